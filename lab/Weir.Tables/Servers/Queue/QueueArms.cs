using System.Globalization;
using System.Text;
using Npgsql;
using Weir.Delivery;
using Weir.Lab.Latency;
using Weir.PostgreSql;
using Weir.Runtimes;
using Weir.Tables.Servers.Turns;

namespace Weir.Tables.Servers.Queue;

/// <summary>The same items through the queue and a bare loop: enqueued singly, in the caller's transaction and in batches, then taken and done.</summary>
internal sealed class QueueArms(FigureDatabase database)
{
    public const int Batch = 256;
    private const int Singles = 400;
    private const int Batches = 60;
    private const int ValueBytes = 100;

    private readonly BareQueue _bare = new(database.Source);
    private readonly PostgresWorkQueue<string> _own = Queue(database, "own", new PostgresWorkQueueOptions());
    private readonly PostgresWorkQueue<string> _forgetful = Queue(database, "forgetful", new PostgresWorkQueueOptions { DuplicateHistory = TimeSpan.Zero });

    public async Task SetupAsync(CancellationToken stop)
    {
        await database.ExecuteAsync(BareQueue.Table, stop).ConfigureAwait(false);
        await database.ExecuteAsync("CREATE TABLE orders (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL)", stop).ConfigureAwait(false);
        await _own.SetupAsync(stop).ConfigureAwait(false);
        await _forgetful.SetupAsync(stop).ConfigureAwait(false);
    }

    public async Task<IReadOnlyList<Pass>> BareAsync(CancellationToken stop)
    {
        List<Pass> passes = [];
        await TimedAsync(passes, "enqueue one item", Singles, async i => await _bare.EnqueueAsync(NewOrigin(), [Payload(i)], stop).ConfigureAwait(false))
            .ConfigureAwait(false);
        await TimedAsync(passes, "enqueue one item with an order", Singles, async i => await WithOrderAsync(
            (connection, _) => _bare.EnqueueAsync(NewOrigin(), [Payload(i)], stop, connection), stop).ConfigureAwait(false)).ConfigureAwait(false);
        await TakeBareAsync(passes, "take and finish one item", 1, 2 * Singles, stop).ConfigureAwait(false);
        await TimedAsync(passes, "enqueue 256 items", Batches, async i => await _bare.EnqueueAsync(
            NewOrigin(), [.. Enumerable.Range(0, Batch).Select(n => Payload((i * Batch) + n))], stop).ConfigureAwait(false), Batch).ConfigureAwait(false);
        await TakeBareAsync(passes, "take and finish 256 items", Batch, Batches * Batch, stop).ConfigureAwait(false);
        return passes;
    }

    public Task<IReadOnlyList<Pass>> OwnAsync(CancellationToken stop) => PassesAsync(_own, "own", stop);

    public Task<IReadOnlyList<Pass>> ForgetfulAsync(CancellationToken stop) => PassesAsync(_forgetful, "forgetful", stop);

    /// <summary>How long items take from the call that enqueues them to the call of the processor, at a steady pace.</summary>
    public async Task<LatencyHistogram> LatencyAsync(int count, TimeSpan pace, CancellationToken stop)
    {
        LatencyHistogram times = new();
        TaskCompletionSource all = new(TaskCreationOptions.RunContinuationsAsynchronously);
        int seen = 0;
        using CancellationTokenSource end = CancellationTokenSource.CreateLinkedTokenSource(stop);
        IWorkSource<string> source = await _own.OpenSourceAsync(stop).ConfigureAwait(false);
        await using (source.ConfigureAwait(false))
        {
            ConcurrentRuntime runtime = new(16);
            await using (runtime.ConfigureAwait(false))
            {
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
                    await timer.WaitForNextTickAsync(stop).ConfigureAwait(false);
                    calls.Add(_own.EnqueueAsync(
                        [WorkItem.Create(Stopwatch.GetTimestamp().ToString(CultureInfo.InvariantCulture))], cancellationToken: stop).AsTask());
                }

                await Task.WhenAll([all.Task, .. calls]).ConfigureAwait(false);
                await end.CancelAsync().ConfigureAwait(false);
                await running.ConfigureAwait(false);
            }
        }

        return times;
    }

    private static PostgresWorkQueue<string> Queue(FigureDatabase database, string name, PostgresWorkQueueOptions options) =>
        new(database.Source, name, WorkSerializer.Text, options);

    private static string NewOrigin() => Guid.CreateVersion7().ToString("N");

    private static string Value(int i) => i.ToString("D" + ValueBytes, CultureInfo.InvariantCulture);

    private static byte[] Payload(int i) => Encoding.UTF8.GetBytes(Value(i));

    private static WorkItem<string>[] Items(int first, int count)
    {
        string origin = NewOrigin();
        return [.. Enumerable.Range(0, count).Select(n => new WorkItem<string>(new WorkId(origin, n), Value(first + n)))];
    }

    private static async Task TimedAsync(List<Pass> passes, string work, int calls, Func<int, Task> call, int itemsPerCall = 1)
    {
        long started = Stopwatch.GetTimestamp();
        for (int i = 0; i < calls; i++)
        {
            await call(i).ConfigureAwait(false);
        }

        passes.Add(new Pass(work, (long)calls * itemsPerCall, Stopwatch.GetElapsedTime(started), calls));
    }

    private async Task<IReadOnlyList<Pass>> PassesAsync(PostgresWorkQueue<string> queue, string name, CancellationToken stop)
    {
        List<Pass> passes = [];
        await TimedAsync(passes, "enqueue one item", Singles, async i => await queue.EnqueueAsync(Items(i, 1), cancellationToken: stop).ConfigureAwait(false))
            .ConfigureAwait(false);
        await TimedAsync(passes, "enqueue one item with an order", Singles, async i => await WithOrderAsync(
            async (_, transaction) => await queue.EnqueueAsync(transaction, Items(i, 1), cancellationToken: stop).ConfigureAwait(false),
            stop).ConfigureAwait(false)).ConfigureAwait(false);
        await TakeAsync(passes, "take and finish one item", Queue(database, name, queue == _own
            ? new PostgresWorkQueueOptions { MaxItemsPerBatch = 1 }
            : new PostgresWorkQueueOptions { MaxItemsPerBatch = 1, DuplicateHistory = TimeSpan.Zero }), 2 * Singles, stop).ConfigureAwait(false);
        await TimedAsync(
            passes,
            "enqueue 256 items",
            Batches,
            async i => await queue.EnqueueAsync(Items(i * Batch, Batch), cancellationToken: stop).ConfigureAwait(false),
            Batch).ConfigureAwait(false);
        await TakeAsync(passes, "take and finish 256 items", queue, Batches * Batch, stop).ConfigureAwait(false);
        return passes;
    }

    private static async Task TakeAsync(List<Pass> passes, string work, PostgresWorkQueue<string> queue, int items, CancellationToken stop)
    {
        IWorkSource<string> source = await queue.OpenSourceAsync(stop).ConfigureAwait(false);
        await using (source.ConfigureAwait(false))
        {
            long started = Stopwatch.GetTimestamp();
            int count = 0;
            long sum = 0;
            while (count < items)
            {
                WorkBatch<string> batch = (await source.ReadAsync(stop).ConfigureAwait(false))!;
                count += batch.Items.Count;
                sum += batch.Items.Sum(static i => (long)i.Value.Length);
                await source.AcknowledgeAsync([batch], stop).ConfigureAwait(false);
            }

            passes.Add(new Pass(work, count, Stopwatch.GetElapsedTime(started), sum));
        }
    }

    private async Task TakeBareAsync(List<Pass> passes, string work, int most, int items, CancellationToken stop)
    {
        long started = Stopwatch.GetTimestamp();
        int count = 0;
        long sum = 0;
        while (count < items)
        {
            List<(long Id, byte[] Payload)> rows = await _bare.TakeAsync(most, stop).ConfigureAwait(false);
            count += rows.Count;
            sum += rows.Sum(static r => (long)Encoding.UTF8.GetString(r.Payload).Length);
            await _bare.DeleteAsync(rows, stop).ConfigureAwait(false);
        }

        passes.Add(new Pass(work, count, Stopwatch.GetElapsedTime(started), sum));
    }

    private async Task WithOrderAsync(Func<NpgsqlConnection, NpgsqlTransaction, ValueTask> enqueue, CancellationToken stop)
    {
        NpgsqlConnection connection = await database.Source.OpenConnectionAsync(stop).ConfigureAwait(false);
        await using (connection.ConfigureAwait(false))
        {
            NpgsqlTransaction transaction = await connection.BeginTransactionAsync(stop).ConfigureAwait(false);
            await using (transaction.ConfigureAwait(false))
            {
                NpgsqlCommand insert = new("INSERT INTO orders (name) VALUES ('an order')", connection);
                await using (insert.ConfigureAwait(false))
                {
                    await insert.ExecuteNonQueryAsync(stop).ConfigureAwait(false);
                }

                await enqueue(connection, transaction).ConfigureAwait(false);
                await transaction.CommitAsync(stop).ConfigureAwait(false);
            }
        }
    }
}
