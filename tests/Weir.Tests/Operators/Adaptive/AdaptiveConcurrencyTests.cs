using System.Collections.Concurrent;
using Weir.TestKit;

namespace Weir.Tests;

/// <summary>The adaptive limit through the public operators. What it reaches is tested in the engine's tests, on the manual clock.</summary>
public class AdaptiveConcurrencyTests
{
    private static readonly AdaptiveConcurrencyOptions Steps = new()
    {
        MaxConcurrency = 64,
        InitialConcurrency = 16,
        SampleInterval = TimeSpan.FromMinutes(1),
        IncreaseStrategy = AdaptiveConcurrencyStrategy.AIMD,
        DecreaseStrategy = AdaptiveConcurrencyStrategy.AIMD,
    };

    [Fact(Timeout = 60_000)]
    public async Task SelectParallel_FailingCalls_LowersWhatIsInFlightFromTheNextCompletionOn()
    {
        Server server = new();
        using SemaphoreSlim lowered = new(0);
        ConcurrentQueue<(int Old, int New)> told = new();
        Task<List<int>> run = Enumerable.Range(0, 100).SelectParallelAsync(server.CallAsync, new()
        {
            MaxDegreeOfParallelism = 1,
            ErrorMode = ErrorMode.BestEffort,
            AdaptiveConcurrency = Steps with
            {
                OnConcurrencyChange = (before, after) =>
                {
                    told.Enqueue((before, after));
                    lowered.Release();
                    return default;
                },
            },
        });
        await server.WaitForAsync(16);

        // A window is 16 calls. Those of them that end before the last one make place for others still; from then on calls only end, until 8 are left. All
        // others are inside their calls before the last one ends: a worker between its look at the old limit and its call would come as a ninth, however late.
        server.Release(15, fails: true);
        await server.WaitForAsync(16);
        server.Release(1, fails: true);
        await lowered.WaitAsync(TestContext.Current.CancellationToken);
        Assert.Equal((16, 8), told.First());
        await server.ReleaseUntilAsync(8);
        for (int i = 0; i < 4; i++)
        {
            server.Release(1, fails: false);
            await server.WaitForAsync(8);
        }

        Assert.Equal(8, server.PeakSinceThen);
        server.ReleaseAll();
        Assert.Equal(100 - 16, (await run).Count(x => x >= 0) + server.FailedAfter(16));
        Assert.InRange(server.Peak, 16, 64);
    }

    [Fact(Timeout = 60_000)]
    public async Task Operators_WithAdaptiveConcurrency_GiveWhatTheyGiveWithout()
    {
        ParallelRunOptions options = new() { AdaptiveConcurrency = new AdaptiveConcurrencyOptions(), OrderedOutput = true };
        int[] items = [.. Enumerable.Range(0, 500)];
        int[] expected = [.. items.Select(static x => x + 1)];
        foreach (bool hooks in new[] { false, true })
        {
            int started = 0;
            int ended = 0;
            options = options with
            {
                OnStartItemAsync = hooks ? _ => Count(ref started) : null,
                OnCompleteItemAsync = hooks ? _ => Count(ref ended) : null,
            };
            Assert.Equal(expected, await items.SelectParallelAsync(AddOneAsync, options));
            Assert.Equal(expected, await items.Where(static _ => true).SelectParallelAsync(AddOneAsync, options));
            Assert.Equal(expected, await items.ToAsyncEnumerable().SelectParallelStreamAsync(AddOneAsync, options).ToArrayAsync());
            Assert.Equal(expected, (await items.SelectParallelOutcomesAsync(AddOneAsync, options)).Select(static o => o.Value));
            Assert.Equal(expected, (await items.BatchParallelAsync(7, static (batch, _) => new ValueTask<int[]>([.. batch.Select(static x => x + 1)]), options))
                .SelectMany(static b => b));
            int sum = 0;
            await items.ForEachParallelAsync(async (x, token) => Interlocked.Add(ref sum, await AddOneAsync(x, token)), options);
            Assert.Equal(expected.Sum(), sum);
            Assert.Equal(hooks ? (500 * 5) + 72 : 0, started);
            Assert.Equal(started, ended);
        }
    }

    [Fact(Timeout = 60_000)]
    public async Task Stream_WithAdaptiveConcurrency_HasRoomForTheHighestLimit()
    {
        // All 64 calls of the highest limit have to be in flight before one ends, with a capacity of 1 and a fixed limit of 1 beside them.
        Server server = new();
        IAsyncEnumerator<int> stream = Enumerable.Range(0, 64).ToAsyncEnumerable().SelectParallelStreamAsync(server.CallAsync, new()
        {
            MaxDegreeOfParallelism = 1,
            ChannelCapacity = 1,
            AdaptiveConcurrency = Steps with { InitialConcurrency = 64 },
        }).GetAsyncEnumerator(TestContext.Current.CancellationToken);
        ValueTask<bool> step = stream.MoveNextAsync();
        await server.WaitForAsync(64);
        server.ReleaseAll();
        int count = 0;
        for (; await step; step = stream.MoveNextAsync())
        {
            count++;
        }

        Assert.Equal(64, count);
        await stream.DisposeAsync();
    }

    [Fact(Timeout = 60_000)]
    public async Task FailFast_WithAdaptiveConcurrency_ThrowsTheFirstErrorAndLeavesTheLimit()
    {
        Server server = new();
        int changes = 0;
        Task<List<int>> run = Enumerable.Range(0, 100).SelectParallelAsync(server.CallAsync, new()
        {
            AdaptiveConcurrency = Steps with { OnConcurrencyChange = (_, _) => Count(ref changes) },
        });
        await server.WaitForAsync(16);
        server.Release(1, fails: true);
        await Assert.ThrowsAsync<FormatException>(() => run);
        Assert.Equal(0, changes);
    }

    [Fact(Timeout = 60_000)]
    public async Task OnConcurrencyChange_ThatNeverReturns_DoesNotHoldUpTheRun()
    {
        TaskCompletionSource never = new();
        List<int> results = await Enumerable.Range(0, 2000).SelectParallelAsync(
            static async (x, _) =>
            {
                await Task.Yield();
                return x;
            },
            new() { AdaptiveConcurrency = Steps with { OnConcurrencyChange = (_, _) => new ValueTask(never.Task) } });
        Assert.Equal(2000, results.Count);
        never.SetResult();
    }

    private static async ValueTask<int> AddOneAsync(int x, CancellationToken cancellationToken)
    {
        await Task.Yield();
        return x + 1;
    }

    private static ValueTask Count(ref int counter)
    {
        Interlocked.Increment(ref counter);
        return default;
    }

    /// <summary>Calls that end when the test says so, and a count of those in flight.</summary>
    private sealed class Server
    {
        private readonly Lock _lock = new();
        private readonly Queue<TaskCompletionSource> _calls = [];
        private readonly List<(int Count, TaskCompletionSource Reached)> _waiters = [];
        private bool _open;
        private int _most = int.MaxValue;

        public int InFlight { get; private set; }

        public int Peak { get; private set; }

        /// <summary>The most calls in flight since <see cref="ReleaseUntilAsync"/> had its way.</summary>
        public int PeakSinceThen { get; private set; }

        public int Failed { get; private set; }

        public int FailedAfter(int first) => Failed - first;

        public async ValueTask<int> CallAsync(int item, CancellationToken cancellationToken)
        {
            TaskCompletionSource call = new(TaskCreationOptions.RunContinuationsAsynchronously);
            lock (_lock)
            {
                InFlight++;
                Peak = Math.Max(Peak, InFlight);
                PeakSinceThen = Math.Max(PeakSinceThen, InFlight);
                if (_open)
                {
                    call.SetResult();
                }
                else
                {
                    _calls.Enqueue(call);
                }

                TellNeedsLock();
            }

            try
            {
                await call.Task.WaitAsync(cancellationToken);
                return item;
            }
            finally
            {
                lock (_lock)
                {
                    InFlight--;
                    TellNeedsLock();
                }
            }
        }

        /// <summary>Waits until exactly that many calls are in flight and none of them has been released.</summary>
        public Task WaitForAsync(int count)
        {
            TaskCompletionSource reached = new(TaskCreationOptions.RunContinuationsAsynchronously);
            lock (_lock)
            {
                _waiters.Add((count, reached));
                TellNeedsLock();
            }

            return reached.Task;
        }

        /// <summary>Releases calls, also those that are yet to start, until no more than that many are in flight.</summary>
        public async Task ReleaseUntilAsync(int count)
        {
            Task reached;
            lock (_lock)
            {
                _most = count;
                reached = WaitForAsync(count);
            }

            await reached;
            lock (_lock)
            {
                _most = int.MaxValue;
                PeakSinceThen = InFlight;
            }
        }

        public void Release(int count, bool fails)
        {
            lock (_lock)
            {
                for (; count > 0; count--)
                {
                    TaskCompletionSource call = _calls.Dequeue();
                    if (fails)
                    {
                        Failed++;
                        call.SetException(new FormatException());
                    }
                    else
                    {
                        call.SetResult();
                    }
                }
            }
        }

        public void ReleaseAll()
        {
            lock (_lock)
            {
                _open = true;
                Release(_calls.Count, fails: false);
            }
        }

        private void TellNeedsLock()
        {
            while (_calls.Count > _most)
            {
                _calls.Dequeue().SetResult();
            }

            foreach ((int count, TaskCompletionSource reached) in _waiters)
            {
                if (InFlight == count && _calls.Count == count)
                {
                    reached.TrySetResult();
                }
            }
        }
    }
}
