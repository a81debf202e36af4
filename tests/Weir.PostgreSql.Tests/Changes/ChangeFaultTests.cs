using System.Collections.Concurrent;
using Npgsql;
using Weir.PostgreSql.Tests.Servers;
using Weir.Runtimes;

namespace Weir.PostgreSql.Tests.Changes;

/// <summary>Connections that are cut, servers that are killed, and hosts that are given up: nothing is lost, and only what the page says comes twice.</summary>
public sealed class ChangeFaultTests(PostgresServer server) : ChangeTest(server)
{
    private readonly MemoryWorkQueue<string> _letters = new("letters", WorkSerializer.Text);

    [Fact(Timeout = Limit)]
    public async Task Host_WalSenderIsTerminated_SeesEachChangeOnce()
    {
        const int Count = 3000;
        await using PostgresChangeSource stream = await NewStreamAsync(Quiet with { MaxChangesPerBatch = 30 });
        var done = new ConcurrentDictionary<int, int>();
        using var stop = new CancellationTokenSource();
        await using IWorkSource<PostgresChange> source = await stream.OpenSourceAsync();
        Task host = RunAsync(source, done, static () => Task.CompletedTask, stop.Token);
        for (int i = 0; i < Count; i += 300)
        {
            await ExecuteAsync($"INSERT INTO {Table} SELECT n FROM generate_series({i}, {i + 299}) n");
            await Guard.UntilAsync(() => done.Count > i, "Some of it");
            await ScalarAsync<long>(
                $"SELECT count(pg_terminate_backend(active_pid)) FROM pg_replication_slots WHERE slot_name = '{Slot}' AND active_pid IS NOT NULL");
        }

        await Guard.UntilAsync(() => done.Count == Count, "All of it");
        await stop.CancelAsync();
        await host.WithinAsync("the host");
        Assert.All(done, static change => Assert.Equal(1, change.Value));
    }

    [Fact(Timeout = Limit)]
    public async Task Host_ServerIsKilledAndStartedAgain_SeesEachChangeOnce()
    {
        const int Count = 400;
        string folder = Path.Combine(Path.GetTempPath(), $"weir-pg-{Guid.NewGuid():N}");
        try
        {
            (int code, string output, string error) = await ServersScript.UpAsync(folder, SharedServers.Postgres);
            Assert.SkipWhen(code != 0, $"No second server can be started here: {error}");
            string connection = ServersScript.Connection(output, SharedServers.PostgresVariable)!;
            await using NpgsqlDataSource own = NpgsqlDataSource.Create(connection);
            var store = new PostgresCheckpointStore(own);
            await store.SetupAsync();
            await RunOnAsync(own, "CREATE TABLE numbers (id int PRIMARY KEY); CREATE PUBLICATION p FOR TABLE numbers");
            await using var stream = new PostgresChangeSource(connection, "s", "p", store, Quiet with { MaxChangesPerBatch = 10 });
            await stream.SetupAsync();
            await RunOnAsync(own, $"INSERT INTO numbers SELECT n FROM generate_series(1, {Count}) n");
            var done = new ConcurrentDictionary<int, int>();
            using var stop = new CancellationTokenSource();
            var killed = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
            await using IWorkSource<PostgresChange> source = await stream.OpenSourceAsync();
            Task host = RunAsync(source, done, () => done.Count < Count / 2 ? Task.CompletedTask : killed.Task, stop.Token);
            await Guard.UntilAsync(() => done.Count >= Count / 2, "Half of it done");
            Assert.Equal(0, (await ServersScript.RunAsync(folder, "kill", "postgres")).Code);
            killed.SetResult();
            Assert.Equal(0, (await ServersScript.UpAsync(folder, SharedServers.Postgres)).Code);
            await RunOnAsync(own, $"INSERT INTO numbers VALUES ({Count + 1})");
            await Guard.UntilAsync(() => done.Count == Count + 1, "Everything done");
            await stop.CancelAsync();
            await host.WithinAsync("the host");
            Assert.All(done, static change => Assert.Equal(1, change.Value));
        }
        finally
        {
            await ServersScript.RunAsync(folder, "down");
        }
    }

    [Fact(Timeout = Limit)]
    public async Task Host_GivenUpAgainAndAgain_HasEachEffectOnceWhenThePositionIsSavedWithIt()
    {
        const int Count = 1500;
        var store = (PostgresCheckpointStore)Checkpoints;
        string effects = Name("effects");
        await ExecuteAsync($"CREATE TABLE {effects} (id int)");
        await using PostgresChangeSource stream = await NewStreamAsync(Quiet with { MaxChangesPerBatch = 40 });
        await ExecuteAsync($"INSERT INTO {Table} SELECT n FROM generate_series(1, 500) n");
        await ExecuteAsync($"INSERT INTO {Table} SELECT n FROM generate_series(501, 1490) n");
        await ExecuteAsync($"INSERT INTO {Table} SELECT n FROM generate_series(1491, {Count}) n");
        for (int round = 1; round <= 6; round++)
        {
            await using IWorkSource<int> source = await stream.OpenSourceAsync(static change => change.New!.Get<int>("id"));
            await using var sink = new EffectSink(Source, store, Slot, effects) { FailsAfter = round == 6 ? int.MaxValue : round };
            await using var runtime = new ConcurrentRuntime(4);
            WorkHost<int> host = WorkHost.Create(
                source, runtime, static (item, _) => new ValueTask<int>(item.Value), sink, new WorkHostOptions<int>
                {
                    DeadLetters = _letters.DeadLetters, Serializer = WorkSerializer.Json<int>(), MaxItemsInFlight = 80,
                });
            Task running = host.RunAsync();
            await Guard.UntilAsync(async () => sink.HasFailed || await CountAsync(effects) >= Count, "The fault, or all effects");
            host.Abort();

            // It may end with the fault.
            await running.EndsAsync("the host");
        }

        Assert.Equal(Count, await CountAsync(effects));
        Assert.Equal(Count, await ScalarAsync<long>($"SELECT count(DISTINCT id) FROM {effects}"));
    }

    private static Task RunOnAsync(NpgsqlDataSource database, string statements)
    {
        // The pool may still have connections that the killed server had.
        database.Clear();
        return database.ExecuteAsync(statements);
    }

    private Task<long> CountAsync(string table) => ScalarAsync<long>($"SELECT count(*) FROM {table}");

    private async Task RunAsync(IWorkSource<PostgresChange> source, ConcurrentDictionary<int, int> done, Func<Task> before, CancellationToken stop)
    {
        await using var runtime = new ConcurrentRuntime(4);
        var host = new WorkHost<PostgresChange>(
            source,
            runtime,
            async (item, token) =>
            {
                await before().WaitAsync(token);
                done.AddOrUpdate(item.Value.New!.Get<int>("id"), 1, static (_, n) => n + 1);
            },
            new WorkHostOptions<PostgresChange>
            {
                DeadLetters = _letters.DeadLetters, Serializer = new NoBytes(), MaxItemsInFlight = 60, PartitionBy = static item => item.Key,
            });
        await host.RunAsync(stop);
    }

    /// <summary>Effects and position in one transaction. It fails once, before the commit or after it.</summary>
    private sealed class EffectSink(NpgsqlDataSource source, PostgresCheckpointStore store, string name, string table) : IWorkSink<int>
    {
        private int _calls;
        private volatile bool _hasFailed;

        public required int FailsAfter { get; init; }

        public bool HasFailed => _hasFailed;

        public async ValueTask WriteAsync(IReadOnlyList<WorkItem<int>> items, string? position, CancellationToken cancellationToken)
        {
            await using NpgsqlConnection connection = await source.OpenConnectionAsync(cancellationToken);
            await using NpgsqlTransaction transaction = await connection.BeginTransactionAsync(cancellationToken);
            if (await store.LoadAsync(transaction, name, cancellationToken) == position)
            {
                return;
            }

            await using var insert = new NpgsqlCommand($"INSERT INTO {table} SELECT unnest($1::int[])", connection);
            insert.Parameters.AddWithValue(items.Select(static i => i.Value).ToArray());
            await insert.ExecuteNonQueryAsync(cancellationToken);
            await store.SaveAsync(transaction, name, position!, cancellationToken);
            bool fails = ++_calls == FailsAfter;
            if (!fails || FailsAfter % 2 == 0)
            {
                await transaction.CommitAsync(CancellationToken.None);
            }

            if (fails)
            {
                _hasFailed = true;
                throw new IOException("The effect is there, or not: nobody knows.");
            }
        }

        public ValueTask DisposeAsync() => default;
    }
}
