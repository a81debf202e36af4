namespace Weir.Tables.Servers.Changes;

/// <summary>
/// From a table to a table that has each effect once: straight, with the position in the transaction of the effects, and through a queue, with an inbox in it.
/// </summary>
internal sealed class ChainArms(FigureDatabase database, string work, long rows)
{
    private const int Workers = 2;
    private const int ItemsPerBatch = 1000;

    private int _passes;

    public async Task<IReadOnlyList<Pass>> StraightAsync(string slot, CancellationToken stop)
    {
        await PrepareAsync(stop);
        PostgresCheckpointStore checkpoints = new(database.Source);
        await checkpoints.SetupAsync(stop);
        return await RunAsync(slot, checkpoints, (done, _) => new EffectSink(database.Source, null, checkpoints, slot, done), null, stop);
    }

    public async Task<IReadOnlyList<Pass>> QueueAsync(string slot, CancellationToken stop)
    {
        await PrepareAsync(stop);
        PostgresInbox inbox = new(database.Source, slot);
        await inbox.SetupAsync(stop);
        await using PostgresWorkQueue<string> queue = new(
            database.Source, $"q{++_passes}", WorkSerializer.Text, new PostgresWorkQueueOptions { MaxItemsPerBatch = ItemsPerBatch });
        await queue.SetupAsync(stop);
        IWorkSink<string> sink = await queue.OpenSinkAsync(stop);
        return await RunAsync(
            slot,
            new MemoryCheckpointStore(),
            (_, _) => sink,
            (done, end) => Task.WhenAll(
                Enumerable.Range(0, Workers).Select(_ => WorkAsync(queue, new EffectSink(database.Source, inbox, null, slot, done), end))),
            stop);
    }

    private static WorkHostOptions<string> Options { get; } = new()
    {
        DeadLetters = new MemoryWorkQueue<string>("letters", WorkSerializer.Text).DeadLetters,
        Serializer = WorkSerializer.Text,
        MaxItemsPerCall = ItemsPerBatch,
    };

    private static async Task WorkAsync(PostgresWorkQueue<string> queue, EffectSink sink, CancellationToken end)
    {
        await using IWorkSource<string> source = await queue.OpenSourceAsync(CancellationToken.None);
        await HostAsync(source, sink, end);
    }

    private static async Task HostAsync(IWorkSource<string> source, IWorkSink<string> sink, CancellationToken end)
    {
        await using DirectRuntime runtime = new();
        await WorkHost.Create(source, runtime, static (item, _) => new ValueTask<string>(item.Value), sink, Options).RunAsync(end);
    }

    private async Task PrepareAsync(CancellationToken stop) =>
        await database.ExecuteAsync("DROP TABLE IF EXISTS effects; CREATE TABLE effects (id bigint, amount bigint)", stop);

    private async Task<IReadOnlyList<Pass>> RunAsync(
        string slot,
        ICheckpointStore checkpoints,
        Func<Done, CancellationToken, IWorkSink<string>> sinkOf,
        Func<Done, CancellationToken, Task>? work2,
        CancellationToken stop)
    {
        await using PostgresChangeSource changes = new(
            database.Connection, slot, StreamArms.Publication, checkpoints, new PostgresChangeSourceOptions { MaxChangesPerBatch = ItemsPerBatch });
        await changes.SetupAsync(stop);
        using CancellationTokenSource end = CancellationTokenSource.CreateLinkedTokenSource(stop);
        Done done = new(rows);
        long started = Stopwatch.GetTimestamp();
        await using IWorkSource<string> source = await changes.OpenSourceAsync(
            static change => string.Create(CultureInfo.InvariantCulture, $"{change.New!.Get<int>(0)} {change.New.Get<long>(2)}"), stop);
        Task[] hosts = [HostAsync(source, sinkOf(done, end.Token), end.Token), work2?.Invoke(done, end.Token) ?? Task.CompletedTask];
        await Task.WhenAny([done.All, .. hosts.Where(static h => !h.IsCompleted)]);
        TimeSpan time = Stopwatch.GetElapsedTime(started);
        await end.CancelAsync();
        await Task.WhenAll(hosts);
        long count = await database.ScalarAsync<long>("SELECT count(DISTINCT id) FROM effects", stop);
        long sum = (long)await database.ScalarAsync<decimal>("SELECT sum(amount) FROM effects", stop);
        return [new Pass(work, count, time, sum)];
    }

    /// <summary>Counts effects.</summary>
    private sealed class Done(long most)
    {
        private readonly TaskCompletionSource _all = new(TaskCreationOptions.RunContinuationsAsynchronously);
        private long _count;

        public Task All => _all.Task;

        public void Add(int count)
        {
            if (Interlocked.Add(ref _count, count) >= most)
            {
                _all.TrySetResult();
            }
        }
    }

    /// <summary>Stores effects, with the identities of their items or with the position, in one transaction.</summary>
    private sealed class EffectSink(NpgsqlDataSource source, PostgresInbox? inbox, PostgresCheckpointStore? checkpoints, string name, Done done)
        : IWorkSink<string>
    {
        public async ValueTask WriteAsync(IReadOnlyList<WorkItem<string>> items, string? position, CancellationToken cancellationToken)
        {
            if (inbox is not null)
            {
                done.Add(await inbox.ProcessAsync(items, StoreAsync, cancellationToken));
                return;
            }

            await using (NpgsqlConnection connection = await source.OpenConnectionAsync(cancellationToken))
            {
                await using NpgsqlTransaction transaction = await connection.BeginTransactionAsync(cancellationToken);
                await StoreAsync(transaction, items, cancellationToken);
                await checkpoints!.SaveAsync(transaction, name, position!, cancellationToken);
                await transaction.CommitAsync(cancellationToken);
            }

            done.Add(items.Count);
        }

        public ValueTask DisposeAsync() => default;

        private static async ValueTask StoreAsync(NpgsqlTransaction transaction, IReadOnlyList<WorkItem<string>> items, CancellationToken cancellationToken)
        {
            long[] ids = new long[items.Count];
            long[] amounts = new long[items.Count];
            for (int i = 0; i < ids.Length; i++)
            {
                string[] parts = items[i].Value.Split(' ');
                ids[i] = long.Parse(parts[0], CultureInfo.InvariantCulture);
                amounts[i] = long.Parse(parts[1], CultureInfo.InvariantCulture);
            }

            await using NpgsqlCommand insert = new("INSERT INTO effects SELECT * FROM unnest($1, $2)", transaction.Connection);
            insert.Parameters.Add(new NpgsqlParameter<long[]> { TypedValue = ids });
            insert.Parameters.Add(new NpgsqlParameter<long[]> { TypedValue = amounts });
            await insert.ExecuteNonQueryAsync(cancellationToken);
        }
    }
}
