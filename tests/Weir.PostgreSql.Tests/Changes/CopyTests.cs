using System.Globalization;
using Npgsql;
using Weir.PostgreSql.Tests.Servers;
using Weir.Runtimes;

namespace Weir.PostgreSql.Tests.Changes;

/// <summary>
/// A second table that is kept the same as the first, as docs/reference/table-to-index.md describes it: the effect and the position in one transaction, and a copy that
/// is cleared when a snapshot begins again.
/// </summary>
public sealed class CopyTests(PostgresServer server) : ChangeTest(server)
{
    private const int Rows = 40;

    private static readonly PostgresChangeSourceOptions Small = new()
    {
        HeartbeatInterval = TimeSpan.FromMilliseconds(50), SlotWait = TimeSpan.FromMinutes(1), MaxChangesPerBatch = 7, InitialSnapshot = true,
    };

    private string Copy => Name("copy");

    private PostgresCheckpointStore Store => (PostgresCheckpointStore)Checkpoints;

    [Fact(Timeout = Limit)]
    public async Task Copy_CommitsWhoseAnswerIsLostAndRestarts_IsTheSameAndEachChangeCountsOnce()
    {
        await ExecuteAsync($"CREATE TABLE {Copy} (id int PRIMARY KEY, value text, applied int NOT NULL DEFAULT 0)");
        await ExecuteAsync($"INSERT INTO {Table} SELECT i, 'old ' || i FROM generate_series(1, {Rows}) i");
        for (int start = 0; start < 4; start++)
        {
            await using PostgresChangeSource stream = await NewStreamAsync(Small);
            if (await Checkpoints.LoadAsync(stream.CheckpointName) == "snapshot")
            {
                await ExecuteAsync($"TRUNCATE {Copy}");
            }

            await using IWorkSource<(int? Id, string? Value, int? Former)> source = await stream.OpenSourceAsync(Of);
            await using var one = new DirectRuntime();
            var sink = new CopySink(this, stream.CheckpointName) { MostCommits = start == 0 ? 1 : int.MaxValue };
            using var stop = new CancellationTokenSource();
            WorkHost<(int? Id, string? Value, int? Former)> host = WorkHost.Create(
                source,
                one,
                static (item, _) => new ValueTask<(int? Id, string? Value, int? Former)>(item.Value),
                sink,
                new WorkHostOptions<(int? Id, string? Value, int? Former)>
                {
                    DeadLetters = new MemoryDeadLetters(), Serializer = new NoBytes(), MaxItemsInFlight = Rows / 2,
                });
            Task run = host.RunAsync(stop.Token);
            if (start == 0)
            {
                // The process ends in the middle of the snapshot. A row that it has copied is deleted, of which no stream will tell.
                await sink.Stopped.Task.WithinAsync("some of the snapshot");
                host.Abort();
                await run.EndsAsync("the first process");
                Assert.InRange(await ScalarAsync<long>($"SELECT count(*) FROM {Copy}"), 1, Rows - 1);
                await ExecuteAsync($"DELETE FROM {Table} WHERE id = 1");
                continue;
            }

            await ExecuteAsync(
                $"""
                UPDATE {Table} SET value = 'new {start} ' || id WHERE id % 2 = 0;
                UPDATE {Table} SET id = id + 1000 WHERE id % 5 = {start};
                DELETE FROM {Table} WHERE id % 7 = {start};
                """);
            if (start == 3)
            {
                await ExecuteAsync($"TRUNCATE {Table}; INSERT INTO {Table} SELECT i, 'last' FROM generate_series(1, 9) i");
            }

            await UntilTheSameAsync(run);

            // The snapshot may have all of this already, and its end comes after its last rows: stopped before that, the next process would take it again, with
            // all that has changed by then, and no commit would be of the stream.
            await Guard.UntilAsync(async () => await Checkpoints.LoadAsync(stream.CheckpointName) != "snapshot", "The end of the snapshot");
            await stop.CancelAsync();
            await run.WithinAsync("the stop");
            Assert.True(sink.LostAnswers > 0 || start == 1, "No commit was repeated.");
        }

        // Each of the last rows was inserted once, however often the calls were repeated.
        Assert.Equal(9L, await ScalarAsync<long>($"SELECT sum(applied) FROM {Copy}"));
    }

    private static (int? Id, string? Value, int? Former) Of(PostgresChange change) => change switch
    {
        { Kind: PostgresChangeKind.Truncate } => (null, null, null),
        { Kind: PostgresChangeKind.Delete } => (null, null, change.Old!.Get<int>("id")),
        _ => (change.New!.Get<int>("id"), change.New.Get<string>("value"), change.Old?.Get<int>("id")),
    };

    private async Task UntilTheSameAsync(Task run)
    {
        string all = "SELECT coalesce(string_agg(id || '=' || value, ',' ORDER BY id), '') FROM ";
        while (await ScalarAsync<string>(all + Table) != await ScalarAsync<string>(all + Copy))
        {
            Assert.False(run.IsCompleted, $"{run.Exception}");
            await Guard.PauseAsync();
        }
    }

    private sealed class CopySink(CopyTests test, string checkpoint) : IWorkSink<(int? Id, string? Value, int? Former)>
    {
        public int LostAnswers { get; private set; }

        public int MostCommits { get; init; }

        public TaskCompletionSource Stopped { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);

        private int _commits;

        public async ValueTask WriteAsync(
            IReadOnlyList<WorkItem<(int? Id, string? Value, int? Former)>> items, string? position, CancellationToken cancellationToken)
        {
            if (_commits >= MostCommits)
            {
                Stopped.TrySetResult();
                await Task.Delay(Timeout.InfiniteTimeSpan, TimeProvider.System, cancellationToken);
            }

            await using NpgsqlConnection connection = await test.Source.OpenConnectionAsync(cancellationToken);
            await using NpgsqlTransaction transaction = await connection.BeginTransactionAsync(cancellationToken);
            if (position != "snapshot" && await test.Store.LoadAsync(transaction, checkpoint, cancellationToken) == position)
            {
                return;
            }

            foreach ((int? id, string? value, int? former) in items.Select(static i => i.Value))
            {
                await using var command = new NpgsqlCommand(
                    (id, former) switch
                    {
                        (null, null) => $"TRUNCATE {test.Copy}",
                        (null, _) => string.Create(CultureInfo.InvariantCulture, $"DELETE FROM {test.Copy} WHERE id = {former}"),
                        _ => string.Create(
                            CultureInfo.InvariantCulture,
                            $"""
                            WITH moved AS (DELETE FROM {test.Copy} WHERE id = {former ?? id} AND id <> {id})
                            INSERT INTO {test.Copy} AS copy (id, value, applied) VALUES ({id}, '{value}', 1)
                            ON CONFLICT (id) DO UPDATE SET value = excluded.value, applied = copy.applied + 1
                            """),
                    },
                    connection,
                    transaction);
                await command.ExecuteNonQueryAsync(cancellationToken);
            }

            await test.Store.SaveAsync(transaction, checkpoint, position!, cancellationToken);
            await transaction.CommitAsync(cancellationToken);
            _commits++;
            if (position != "snapshot" && items.Count > 0)
            {
                LostAnswers++;
                throw new IOException("The answer to the commit is lost.");
            }
        }

        public ValueTask DisposeAsync() => default;
    }

    private sealed class NoBytes : IWorkSerializer<(int? Id, string? Value, int? Former)>
    {
        public void Write((int? Id, string? Value, int? Former) value, System.Buffers.IBufferWriter<byte> output) => throw new NotSupportedException();

        public (int? Id, string? Value, int? Former) Read(ReadOnlySpan<byte> bytes) => throw new NotSupportedException();
    }
}
