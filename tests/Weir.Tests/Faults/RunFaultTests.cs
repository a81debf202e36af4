#if DEBUG
using System.Threading.Channels;
using Weir.Resilience;
using Weir.Runtimes;
using Weir.TestKit;
using Weir.Tests.Operators.Budgets;
using Weir.Tests.Runtimes;

namespace Weir.Tests.Faults;

/// <summary>
/// Places of the engine without a caller above them that only an operator's options reach: each run fails there once, at the first time and then at the second,
/// and so on. It ends, with the fault or with all results.
/// </summary>
[Collection(nameof(Alone))]
public sealed class RunFaultTests : IDisposable
{
    private const int Count = 8;

    private static readonly TimeSpan Short = TimeSpan.FromMilliseconds(3);

    private static readonly Dictionary<string, Func<FaultPlaces, Task<int[]>>> Runs = new()
    {
        ["DelayQueue.Wake"] = static _ => WaitsForAPlace(),
        ["Pump.Release"] = static _ => ReadSlowly(),
        ["PumpWorker.ShareIfStuck"] = static async places =>
        {
            await using ConcurrentRuntime runtime = new(2);
            return await HasABlockedItem(places, async (items, call) =>
                [.. (await RuntimeRun.Start(RunForm.Array, runtime, items, call, new ProcessManyOptions { TotalTimeout = TimeSpan.FromMinutes(1) }))
                    .Select(static outcome => outcome.GetValueOrThrow())]);
        },
        ["PumpWorker.Share"] = static places => HasABlockedItem(places, static async (items, call) =>
            [.. await items.SelectParallelAsync(call, new ParallelRunOptions { MaxDegreeOfParallelism = 2 })]),
        ["Batches.cs"] = static _ => BatchWaitsForItems(),
        ["WorkQueue.cs"] = static _ => QueueIsFilledSlowly(),
    };

    private readonly FaultPlaces _places = new(static (place, _) => place != "Pump.Start");

    public static TheoryData<string> Cases() => [.. Runs.Keys];

    public void Dispose() => _places.Dispose();

    [Theory(Timeout = 300_000)]
    [MemberData(nameof(Cases))]
    public async Task Run_FailsAtAnyPlace_Ends(string name)
    {
        long started = TimeProvider.System.GetTimestamp();
        for (int at = 1; at <= 60;)
        {
            _places.FailAt(at);
            Task<int[]> run = Runs[name](_places);
            await _places.EndsAsync(run, $"A run after a fault at place {at}");
            bool failed = _places.HasFailed;
            _places.Pass();
            if (run.IsCompletedSuccessfully)
            {
                Assert.Equal(Enumerable.Range(0, Count), (await run).Order());
            }
            else
            {
                Exception error = await Assert.ThrowsAnyAsync<Exception>(() => run);
                Assert.True(failed, error.ToString());
            }

            // On a busy machine a run may get by without the place: items look slow there, for example, and a worker takes one at a time. How often in a row
            // is no number, so this is a bound on hanging.
            if (failed)
            {
                at++;
            }
            else if (HasPassed(name) || TimeProvider.System.GetElapsedTime(started) > TimeSpan.FromSeconds(120))
            {
                break;
            }
        }

        Assert.True(HasPassed(name), $"No run passed {name}, but {string.Join(", ", _places.Passed.Keys)}.");
    }

    private bool HasPassed(string name) => _places.Passed.Keys.Any(place => place.StartsWith(name, StringComparison.Ordinal));

    private static async Task<int[]> WaitsForAPlace()
    {
        SharedConcurrencyLimit limit = new(1);
        await limit.EnterAsync();
        Task<List<int>> run = RuntimeRun.Count(Count).SelectParallelAsync(
            static (x, _) => new ValueTask<int>(x), new ParallelRunOptions { MaxDegreeOfParallelism = 2, ConcurrencyLimit = limit });
        await Guard.UntilAsync(() => limit.Waiting > 0 || run.IsCompleted, "An item that waits");
        limit.Leave();
        return [.. await run];
    }

    private static async Task<int[]> ReadSlowly()
    {
        List<int> results = [];
        await foreach (int result in RuntimeRun.Count(Count).SelectParallelStreamAsync(
            static (x, _) => new ValueTask<int>(x), new ParallelRunOptions { MaxDegreeOfParallelism = 2, ChannelCapacity = 1 }))
        {
            results.Add(result);
            await Guard.SettleAsync();
        }

        return [.. results];
    }

    private static async Task<int[]> HasABlockedItem(FaultPlaces places, Func<int[], Func<int, CancellationToken, ValueTask<int>>, Task<int[]>> start)
    {
        using ManualResetEventSlim gate = new();
        int others = 0;

        // So many that a worker takes several at once, and one of them blocks before it has begun the others.
        int[] items = RuntimeRun.Count(20_000);
        Task<int[]> call = start(
            items,
            (x, _) =>
            {
                if (x == items.Length / 2)
                {
                    gate.Wait();
                }
                else
                {
                    Interlocked.Increment(ref others);
                }

                return new ValueTask<int>(x);
            });

        // A run that has failed still waits for the item that blocks.
        await Guard.UntilAsync(() => Volatile.Read(ref others) == items.Length - 1 || call.IsCompleted || places.HasFailed, "The other items");
        gate.Set();
        int[] results = await call;
        Assert.Equal(items, results);
        return results[..Count];
    }

    private static async Task<int[]> BatchWaitsForItems()
    {
        Channel<int> channel = Channel.CreateUnbounded<int>();
        foreach (int item in RuntimeRun.Count(Count))
        {
            channel.Writer.TryWrite(item);
        }

        List<int> results = [];
        await foreach (IReadOnlyList<int> batch in channel.Reader.BatchParallelStreamAsync(
            Count + 1, static (batch, _) => new ValueTask<IReadOnlyList<int>>(batch), null, Short))
        {
            results.AddRange(batch);
            if (results.Count == Count)
            {
                channel.Writer.Complete();
            }
        }

        return [.. results];
    }

    private static async Task<int[]> QueueIsFilledSlowly()
    {
        WorkQueue<int> queue = new();
        using IDisposable open = queue.KeepOpen();
        Task<List<int>> run = queue.SelectParallelAsync(
            static (x, _) => new ValueTask<int>(x), new ParallelRunOptions { MaxDegreeOfParallelism = 2 });
        foreach (int item in RuntimeRun.Count(Count))
        {
            await Guard.UntilAsync(() => queue is { Count: 0, Running: 0 } || run.IsCompleted, "The item");
            queue.TryAdd(item);
        }

        open.Dispose();
        return [.. await run];
    }
}
#endif
