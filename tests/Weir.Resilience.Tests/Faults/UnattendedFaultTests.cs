#if DEBUG
using Weir.Resilience.Tests.Support;

namespace Weir.Resilience.Tests.Faults;

/// <summary>
/// Timers, callbacks of tokens and work items of policies have no caller above them. Each scenario here fails at the first such place that it passes, then at
/// the second, and so on: whoever waits for a policy goes on, places and tokens come back, and no exception leaves its thread.
/// </summary>
[Collection(nameof(Alone))]
public sealed class UnattendedFaultTests : IDisposable
{
    private static readonly TimeSpan Short = TimeSpan.FromMilliseconds(2);
    private static readonly TimeSpan Second = TimeSpan.FromSeconds(1);

    private static readonly Dictionary<string, Func<bool, Task>> All = new()
    {
        [nameof(TimedOut)] = TimedOut,
        [nameof(CancelledCall)] = CancelledCall,
        [nameof(PlaceOfATimedCall)] = PlaceOfATimedCall,
        [nameof(CancelledWaitForAPlace)] = CancelledWaitForAPlace,
        [nameof(WaitWhoseTimeIsUp)] = WaitWhoseTimeIsUp,
        [nameof(ItemsAtARateLimit)] = ItemsAtARateLimit,
        [nameof(StateChanges)] = StateChanges,
    };

    private readonly FaultPlaces _places = new();

    public static TheoryData<string, int> Scenarios() => [.. All.Keys.SelectMany(static s => new[] { (s, 1), (s, 2) })];

    public void Dispose() => _places.Dispose();

    [Theory(Timeout = 300_000)]
    [MemberData(nameof(Scenarios))]
    public async Task Policy_FailsAtAnyPlace_LeavesNobodyWaiting(string scenario, int failures)
    {
        bool failed = true;
        for (int at = 1; failed && at <= 50; at++)
        {
            _places.FailAt(at, failures);
            try
            {
                Task run = All[scenario](failures == 1);
                await _places.EndsAsync(run, $"{scenario} after a fault at place {at}");
                await run;
            }
            finally
            {
                failed = _places.HasFailed;
                _places.Pass();
            }
        }

        // The others go on.
        await All[scenario](true).WithinAsync();
    }

    [Fact(Timeout = 300_000)]
    public async Task Places_OfTheSources_AreThoseThatAreTested()
    {
        Assert.Empty(await _places.MissedAsync(FaultPlaces.InSources("Weir.Resilience"), static async () =>
        {
            foreach (Func<bool, Task> scenario in All.Values)
            {
                await scenario(true).WithinAsync();
            }
        }));
    }

    private static async Task TimedOut(bool once)
    {
        TimeoutPolicy<int> policy = new(new TimeoutOptions { Timeout = Short });
        Exception? error = await Record.ExceptionAsync(
            () => policy.ExecuteAsync(static (_, _) => new ValueTask<int>(new TaskCompletionSource<int>().Task), 0).AsTask());
        Assert.True(error is OperationCanceledException or InsufficientMemoryException, error?.ToString());
        Assert.Equal(7, await policy.ExecuteAsync(static (x, _) => new ValueTask<int>(x), 7));
    }

    private static async Task CancelledCall(bool once)
    {
        TimeoutPolicy<int> policy = new(new TimeoutOptions { Timeout = TimeSpan.FromHours(1) });
        using CancellationTokenSource stop = new();
        Task<int> call = policy.ExecuteAsync(
            static async (x, token) =>
            {
                await Task.Delay(Timeout.InfiniteTimeSpan, TimeProvider.System, token);
                return x;
            },
            0,
            stop.Token).AsTask();
        stop.Cancel();
        Exception? error = await Record.ExceptionAsync(() => call);
        Assert.True(error is OperationCanceledException or InsufficientMemoryException, error?.ToString());
    }

    private static async Task PlaceOfATimedCall(bool once)
    {
        SharedConcurrencyLimit limit = new(1);
        PolicyChain<int> chain = new(new PolicyChainOptions<int> { ConcurrencyLimit = limit, TotalTimeout = Short });
        Exception? error = await Record.ExceptionAsync(
            () => chain.ExecuteAsync(static (_, _) => new ValueTask<int>(new TaskCompletionSource<int>().Task), 0).AsTask());
        Assert.True(error is OperationCanceledException or InsufficientMemoryException, error?.ToString());

        // The call never ends, and has its place no longer, unless both attempts to return it failed.
        if (once)
        {
            await Guard.UntilAsync(() => limit.InUse == 0, "The place is free");
        }
    }

    private static async Task CancelledWaitForAPlace(bool once)
    {
        SharedConcurrencyLimit limit = new(1);
        await limit.EnterAsync();
        using CancellationTokenSource stop = new();
        Task first = limit.EnterAsync(stop.Token).AsTask();
        Task second = limit.EnterAsync().AsTask();
        stop.Cancel();
        Exception? error = await Record.ExceptionAsync(() => first);
        Assert.True(error is OperationCanceledException or InsufficientMemoryException, error?.ToString());
        limit.Leave();
        await second;
        limit.Leave();
        Assert.Equal((0, 0), (limit.InUse, limit.Waiting));
    }

    private static async Task WaitWhoseTimeIsUp(bool once)
    {
        AdaptiveLimit limit = new(new AdaptiveLimitOptions { Adaptive = new() { MaxConcurrency = 1 } });
        await limit.EnterAsync();
        Exception? error = await Record.ExceptionAsync(() => limit.With(within: Short).ExecuteAsync(static _ => new ValueTask<int>(1)).AsTask());
        Assert.True(error is ConcurrencyLimitRejectedException or InsufficientMemoryException, error?.ToString());
        limit.Leave();
        Assert.Equal((0, 0), (limit.InUse, limit.Waiting));
    }

    private static Task ItemsAtARateLimit(bool once)
    {
        ManualTimeProvider time = new();
        TokenBucket bucket = new(new RateLimitOptions { TokensPerSecond = 1, BurstCapacity = 1, TimeProvider = time });
        Assert.True(bucket.TryEnter(out _));
        ItemRateWaiter[] turns = [.. Enumerable.Range(0, 3).Select(_ =>
        {
            Assert.False(bucket.TryEnter(out ItemRateWaiter? turn));
            return turn!;
        })];
        foreach (ItemRateWaiter turn in turns)
        {
            // The timer that failed fires again.
            time.Advance(Second);
            time.Advance(Second / 10);
            Assert.True(turn.Served.IsCompletedSuccessfully);
            Assert.True(turn.TryEnter());
        }

        Assert.Equal((0, 0), (bucket.Waiting, time.LiveTimers));
        return Task.CompletedTask;
    }

    private static async Task StateChanges(bool once)
    {
        List<CircuitBreakerState> seen = [];
        TaskCompletionSource closed = new();
        ManualTimeProvider time = new();
        CircuitBreaker breaker = new(new CircuitBreakerOptions
        {
            FailureThreshold = 1,
            SuccessThreshold = 1,
            OpenTimeout = Second,
            TimeProvider = time,
            OnStateChange = (_, to) =>
            {
                seen.Add(to);
                if (to == CircuitBreakerState.Closed)
                {
                    closed.TrySetResult();
                }

                return default;
            },
        });
        Assert.True(breaker.TryEnter(out CircuitTicket ticket));
        breaker.Failed(ticket);
        time.Advance(Second);
        Assert.True(breaker.TryEnter(out ticket));
        breaker.Succeeded(ticket);
        await closed.Task.WithinAsync("The last change is told");
        Assert.Equal([CircuitBreakerState.Open, CircuitBreakerState.HalfOpen, CircuitBreakerState.Closed], seen);
    }
}
#endif
