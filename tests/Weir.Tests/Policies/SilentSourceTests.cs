using System.Collections.Concurrent;
using System.Threading.Channels;
using Weir.TestKit;

namespace Weir.Tests.Policies;

/// <summary>A worker that waits for the source has no item in flight: what falls due meanwhile runs in its place.</summary>
public class SilentSourceTests
{
    private static readonly TimeSpan Second = TimeSpan.FromSeconds(1);

    private readonly ManualTimeProvider _time = new();

    public static TheoryData<string> Sources => ["channel", "async", "blocking", "keyed"];

    [Theory(Timeout = 60_000)]
    [MemberData(nameof(Sources))]
    public async Task Retry_DueWhileTheSourceIsSilent_RunsAtALimitOfOne(string kind)
    {
        using Feed feed = new(1);
        using CallGates gate = new();
        int calls = 0;
        Task run = Start(kind, feed, (x, _) =>
        {
            gate.Count(++calls);
            return calls == 1 ? throw new IOException() : default;
        });
        await gate.CountedAsync(1);
        await DueAsync(1);
        _time.Advance(Second);
        await gate.CountedAsync(2);
        feed.End();
        await run.WithinAsync();
        Assert.Equal(2, calls);
    }

    [Theory(Timeout = 60_000)]
    [MemberData(nameof(Sources))]
    public async Task Producer_ThatAwaitsEachItemBeforeTheNext_IsServed(string kind)
    {
        using Feed feed = new(1);
        ConcurrentDictionary<int, int> attempts = new();
        ConcurrencyProbe probe = new();
        SemaphoreSlim done = new(0);
        Task run = Start(kind, feed, async (x, _) =>
        {
            using ConcurrencyProbe.Stay stay = probe.Enter();
            await Task.Yield();
            if (attempts.AddOrUpdate(x, 1, static (_, n) => n + 1) < 3)
            {
                throw new IOException();
            }

            done.Release();
        });
        for (int item = 2; item <= 6; item++)
        {
            await TriedAgainUntilAsync(done);
            feed.Add(item);
        }

        feed.End();
        await TriedAgainUntilAsync(done);
        await run.WithinAsync();
        Assert.Equal(1, probe.Most);
        Assert.All(attempts.Values, static n => Assert.Equal(3, n));
    }

    [Fact(Timeout = 60_000)]
    public async Task Retry_WithOneLongItemAndAReader_RunsAtALimitOfTwo()
    {
        using Feed feed = new(1, 2);
        using Gate longItem = new();
        using CallGates gate = new();
        int calls = 0;
        Task run = Start("channel", feed, async (x, token) =>
        {
            if (x == 1)
            {
                await longItem.WaitAsync(token);
                return;
            }

            gate.Count(++calls);
            if (calls == 1)
            {
                throw new IOException();
            }
        }, limit: 2);
        await gate.CountedAsync(1);
        await DueAsync(1);
        _time.Advance(Second);
        await gate.CountedAsync(2);
        longItem.Open();
        feed.End();
        await run.WithinAsync();
    }

    [Fact(Timeout = 60_000)]
    public async Task TimeLimit_OfAnItemThatWaitsForItsRetry_IsToldWhileTheSourceIsSilent()
    {
        using Feed feed = new(1);
        TaskCompletionSource<Exception> told = new(TaskCreationOptions.RunContinuationsAsynchronously);
        Task run = feed.Channel.ForEachParallelAsync(
            static (_, _) => throw new IOException(),
            new ParallelRunOptions
            {
                MaxDegreeOfParallelism = 1,
                Retry = new()
                {
                    MaxRetries = 3,
                    IsTransient = static e => e is IOException,
                    BaseDelay = Second,
                    BackoffStrategy = Resilience.BackoffStrategy.Linear,
                },
                PerItemTimeout = Second,
                TimeProvider = _time,
                ErrorMode = ErrorMode.BestEffort,
                OnErrorAsync = (_, e) =>
                {
                    told.TrySetResult(e);
                    return new ValueTask<bool>(true);
                },
            });

        // The first timer is that of its limit, which is there before it fails. The second is that of its retry.
        await DueAsync(2);
        _time.Advance(Second);
        Assert.IsType<TaskCanceledException>(await told.Task.WithinAsync("the report of the time limit"));
        feed.End();
        await run.WithinAsync();
    }

    [Fact(Timeout = 60_000)]
    public async Task Lane_WithManyItemsQueued_RunsThemWhileTheSourceIsSilent()
    {
        using Feed feed = new([.. Enumerable.Range(0, 60)]);
        using CallGates gate = new();
        int ran = 0;
        Task run = feed.Channel.PartitionBy(static _ => 0).ForEachParallelAsync(
            async (_, _) =>
            {
                await Task.Yield();
                gate.Count(Interlocked.Increment(ref ran));
            },
            new ParallelRunOptions { AdaptiveConcurrency = new AdaptiveConcurrencyOptions { MinConcurrency = 1, MaxConcurrency = 8, InitialConcurrency = 1 } });
        await gate.CountedAsync(60);
        feed.End();
        await run.WithinAsync();
    }

    private Task Start(string kind, Feed feed, Func<int, CancellationToken, ValueTask> call, int limit = 1)
    {
        ParallelRunOptions options = new()
        {
            MaxDegreeOfParallelism = limit,
            MaxRetries = 3,
            BaseDelay = Second,
            BackoffStrategy = Resilience.BackoffStrategy.Linear,
            TimeProvider = _time,
            IsTransient = static e => e is IOException,
        };
        return kind switch
        {
            "channel" => feed.Channel.ForEachParallelAsync(call, options),
            "async" => feed.Channel.ReadAllAsync().ForEachParallelAsync(call, options),
            "keyed" => feed.Channel.PartitionBy(static x => x).ForEachParallelAsync(call, options),
            _ => feed.Blocking.ForEachParallelAsync(call, options),
        };
    }

    // An attempt may fail while the clock still moves, and its own retry fall due in the same step: how many steps it takes is chance.
    private async Task TriedAgainUntilAsync(SemaphoreSlim done)
    {
        await Guard.UntilAsync(
            () =>
            {
                if (_time.ArmedTimers > 0)
                {
                    _time.Advance(Second);
                }

                return done.CurrentCount > 0;
            },
            "an item that was tried again");
        Assert.True(await done.WaitAsync(0));
    }

    // The delay that the timer of the run is set to is the retry's.
    private Task DueAsync(int timers) => Guard.UntilAsync(() => _time.ArmedTimers >= timers, "an item that waits for its next attempt");

    /// <summary>Calls that a test waits for by their number.</summary>
    private sealed class CallGates : IDisposable
    {
        private readonly ConcurrentDictionary<int, Gate> _gates = new();

        public void Count(int call) => Get(call).Open();

        public Task CountedAsync(int call) => Get(call).WaitAsync();

        public void Dispose()
        {
            foreach (Gate gate in _gates.Values)
            {
                gate.Dispose();
            }
        }

        private Gate Get(int call) => _gates.GetOrAdd(call, static _ => new Gate());
    }

    /// <summary>The same items as a channel and as a blocking collection.</summary>
    private sealed class Feed : IDisposable
    {
        private readonly Channel<int> _channel = System.Threading.Channels.Channel.CreateUnbounded<int>();
        private readonly BlockingCollection<int> _blocking = [];

        public Feed(params int[] items)
        {
            foreach (int item in items)
            {
                Add(item);
            }
        }

        public ChannelReader<int> Channel => _channel.Reader;

        public IEnumerable<int> Blocking => _blocking.GetConsumingEnumerable();

        public void Add(int item)
        {
            _channel.Writer.TryWrite(item);
            _blocking.Add(item);
        }

        public void End()
        {
            _channel.Writer.TryComplete();
            _blocking.CompleteAdding();
        }

        public void Dispose()
        {
            if (!_blocking.IsAddingCompleted)
            {
                End();
            }
        }
    }
}
