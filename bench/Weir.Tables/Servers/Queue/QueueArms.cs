namespace Weir.Tables.Servers.Queue;

/// <summary>Brings the same items through the queue and a bare loop: enqueued singly, in the caller's transaction and in batches, then taken and done.</summary>
internal sealed class QueueArms(FigureDatabase database)
{
    public const int Batch = 256;
    private const int Singles = 400;
    private const int Batches = 60;
    private const int ValueBytes = 100;

    private static readonly PostgresWorkQueueOptions Forgetting = new() { DuplicateHistory = TimeSpan.Zero };

    private readonly BareQueue _bare = new(database.Source);
    private readonly PostgresWorkQueue<string> _own = Queue(database, "own", new PostgresWorkQueueOptions());
    private readonly PostgresWorkQueue<string> _forgetful = Queue(database, "forgetful", Forgetting);

    public async Task SetupAsync(CancellationToken stop)
    {
        await database.ExecuteAsync(BareQueue.Table, stop);
        await database.ExecuteAsync("CREATE TABLE orders (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL)", stop);
        await _own.SetupAsync(stop);
        await _forgetful.SetupAsync(stop);
    }

    public Task<IReadOnlyList<Pass>> BareAsync(CancellationToken stop) => PassesAsync(
        (first, count, order) => _bare.EnqueueAsync(
            NewOrigin(), [.. Enumerable.Range(first, count).Select(static i => Encoding.UTF8.GetBytes(Value(i)))], stop, order?.Connection),
        (work, most, items) => TakeBareAsync(work, most, items, stop),
        stop);

    public Task<IReadOnlyList<Pass>> OwnAsync(CancellationToken stop) => PassesAsync(_own, "own", new PostgresWorkQueueOptions(), stop);

    public Task<IReadOnlyList<Pass>> ForgetfulAsync(CancellationToken stop) => PassesAsync(_forgetful, "forgetful", Forgetting, stop);

    /// <summary>How long items take from the call that enqueues them to the call of the processor, at a steady pace.</summary>
    public async Task<LatencyHistogram> LatencyAsync(int count, TimeSpan pace, CancellationToken stop)
    {
        LatencyHistogram times = new();
        TaskCompletionSource all = new(TaskCreationOptions.RunContinuationsAsynchronously);
        int seen = 0;
        using CancellationTokenSource end = CancellationTokenSource.CreateLinkedTokenSource(stop);
        await using (IWorkSource<string> source = await _own.OpenSourceAsync(stop))
        {
            await using ConcurrentRuntime runtime = new(16);
            WorkHost<string> host = new(
                source,
                runtime,
                (item, _) =>
                {
                    long enqueued = long.Parse(item.Value, CultureInfo.InvariantCulture);
                    times.RecordShared((long)Stopwatch.GetElapsedTime(enqueued).TotalNanoseconds);
                    if (Interlocked.Increment(ref seen) == count)
                    {
                        all.TrySetResult();
                    }

                    return default;
                },
                new WorkHostOptions<string> { DeadLetters = _own.DeadLetters, Serializer = WorkSerializer.Text });
            Task running = host.RunAsync(end.Token);
            using PeriodicTimer timer = new(pace);
            List<Task> calls = [];
            for (int i = 0; i < count; i++)
            {
                await timer.WaitForNextTickAsync(stop);
                calls.Add(_own.EnqueueAsync(
                    [WorkItem.Create(Stopwatch.GetTimestamp().ToString(CultureInfo.InvariantCulture))], cancellationToken: stop).AsTask());
            }

            await Task.WhenAll([all.Task, .. calls]);
            await end.CancelAsync();
            await running;
        }

        return times;
    }

    private static PostgresWorkQueue<string> Queue(FigureDatabase database, string name, PostgresWorkQueueOptions options) =>
        new(database.Source, name, WorkSerializer.Text, options);

    private static string NewOrigin() => Guid.CreateVersion7().ToString("N");

    private static string Value(int i) => i.ToString("D" + ValueBytes, CultureInfo.InvariantCulture);

    private static WorkItem<string>[] Items(int first, int count)
    {
        string origin = NewOrigin();
        return [.. Enumerable.Range(0, count).Select(n => new WorkItem<string>(new WorkId(origin, n), Value(first + n)))];
    }

    private Task<IReadOnlyList<Pass>> PassesAsync(PostgresWorkQueue<string> queue, string name, PostgresWorkQueueOptions options, CancellationToken stop) =>
        PassesAsync(
            async (first, count, order) => _ = order is null
                ? await queue.EnqueueAsync(Items(first, count), cancellationToken: stop)
                : await queue.EnqueueAsync(order, Items(first, count), cancellationToken: stop),
            (work, most, items) => TakeAsync(work, Queue(database, name, options with { MaxItemsPerBatch = most }), items, stop),
            stop);

    /// <summary>The work that is the same for all.</summary>
    /// <param name="enqueue">Enqueues items, given the first and how many; in a transaction, if there is one.</param>
    /// <param name="take">Takes and finishes items, given the name of this, how many at once at most, and how many in all.</param>
    /// <param name="stop">Ends it.</param>
    private async Task<IReadOnlyList<Pass>> PassesAsync(
        Func<int, int, NpgsqlTransaction?, ValueTask> enqueue, Func<string, int, int, Task<Pass>> take, CancellationToken stop)
    {
        return
        [
            await EnqueueAsync("enqueue one item", Singles, 1, i => enqueue(i, 1, null)),
            await EnqueueAsync("enqueue one item with an order", Singles, 1, i => WithOrderAsync(transaction => enqueue(i, 1, transaction), stop)),
            await take("take and finish one item", 1, 2 * Singles),
            await EnqueueAsync("enqueue 256 items", Batches, Batch, i => enqueue(i * Batch, Batch, null)),
            await take("take and finish 256 items", Batch, Batches * Batch),
        ];

        async Task<Pass> EnqueueAsync(string work, int calls, int items, Func<int, ValueTask> call)
        {
            long started = Stopwatch.GetTimestamp();
            for (int i = 0; i < calls; i++)
            {
                await call(i);
            }

            return new Pass(work, (long)calls * items, Stopwatch.GetElapsedTime(started), calls);
        }
    }

    private static async Task<Pass> TakeAsync(string work, PostgresWorkQueue<string> queue, int items, CancellationToken stop)
    {
        await using IWorkSource<string> source = await queue.OpenSourceAsync(stop);
        long started = Stopwatch.GetTimestamp();
        (long count, long sum) = (0, 0);
        while (count < items)
        {
            WorkBatch<string> batch = (await source.ReadAsync(stop))!;
            count += batch.Items.Count;
            sum += batch.Items.Sum(static i => (long)i.Value.Length);
            await source.AcknowledgeAsync([batch], stop);
        }

        return new Pass(work, count, Stopwatch.GetElapsedTime(started), sum);
    }

    private async Task<Pass> TakeBareAsync(string work, int most, int items, CancellationToken stop)
    {
        long started = Stopwatch.GetTimestamp();
        (long count, long sum) = (0, 0);
        while (count < items)
        {
            List<(long Id, byte[] Payload)> rows = await _bare.TakeAsync(most, stop);
            count += rows.Count;
            sum += rows.Sum(static r => (long)Encoding.UTF8.GetString(r.Payload).Length);
            await _bare.DeleteAsync(rows, stop);
        }

        return new Pass(work, count, Stopwatch.GetElapsedTime(started), sum);
    }

    private async ValueTask WithOrderAsync(Func<NpgsqlTransaction, ValueTask> enqueue, CancellationToken stop)
    {
        await using NpgsqlConnection connection = await database.Source.OpenConnectionAsync(stop);
        await using NpgsqlTransaction transaction = await connection.BeginTransactionAsync(stop);
        await using (NpgsqlCommand insert = new("INSERT INTO orders (name) VALUES ('an order')", connection))
        {
            await insert.ExecuteNonQueryAsync(stop);
        }

        await enqueue(transaction);
        await transaction.CommitAsync(stop);
    }
}
