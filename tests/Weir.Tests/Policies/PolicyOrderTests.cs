using System.Collections.Concurrent;
using Weir.Resilience;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Policies;

/// <summary>What each policy of a run sees of the others, and of the hooks.</summary>
public class PolicyOrderTests
{
    private static readonly TimeSpan Second = TimeSpan.FromSeconds(1);

    // What is transient by itself has tests of its own; here it is what the calls throw.
    private static readonly Func<Exception, bool> IsWrong = static e => e is FormatException;

    private readonly ManualTimeProvider _time = new();

    private ParallelRunOptions Options => new() { MaxDegreeOfParallelism = 4, TimeProvider = _time, BaseDelay = Second };

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(true, false)]
    [InlineData(false, false)]
    [InlineData(true, true)]
    [InlineData(false, true)]
    public async Task Hook_Throws_FailsTheItemAndRepeatsNothing(bool atStart, bool later)
    {
        int calls = 0;
        int retries = 0;
        async ValueTask Fail(int index)
        {
            if (later)
            {
                await Task.Yield();
            }

            throw new FormatException($"hook {index}");
        }

        Task<ItemOutcome<int, int>[]> run = new[] { 1 }.SelectParallelOutcomesAsync(
            (x, _) =>
            {
                calls++;
                return new ValueTask<int>(x);
            },
            Options with
            {
                MaxRetries = 3,
                IsTransient = IsWrong,
                OnStartItemAsync = atStart ? Fail : null,
                OnCompleteItemAsync = atStart ? null : Fail,
                OnRetryAsync = (_, _, _) =>
                {
                    retries++;
                    return default;
                },
                OnFallback = Fallback.Of(static (_, _) => 99),
            });
        await _time.DriveAsync(run, Second);
        Assert.Equal("hook 0", Assert.IsType<FormatException>((await run)[0].Error).Message);
        Assert.Equal(atStart ? 0 : 1, calls);
        Assert.Equal(0, retries);
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Fallback_NullForANullableResult_IsTheResult()
    {
        List<int?> results = await new[] { 1, 2 }.SelectParallelAsync<int, int?>(
            static (x, _) => x == 1 ? throw new FormatException() : new ValueTask<int?>(x),
            Options with { OnFallback = Fallback.Of<int?>(static (_, _) => null) });
        Assert.Equal([null, 2], results);
    }

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Fallback_OfATimeLimit_IsAsked(bool ofTheItem)
    {
        TaskCompletionSource<int> never = new();
        Task<List<int>> run = new[] { 1 }.SelectParallelAsync(
            (_, _) => new ValueTask<int>(never.Task),
            Options with
            {
                PerItemTimeout = ofTheItem ? Second : null,
                AttemptTimeout = ofTheItem ? null : Second,
                OnFallback = Fallback.Of(static (_, error) => TimeoutFailure.Is(error) ? 7 : 0),
            });
        await _time.DriveAsync(run, Second);
        Assert.Equal([7], await run);
        Assert.Equal(0, _time.LiveTimers);
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Retry_UnderARateLimit_PaysForEachAttempt()
    {
        int calls = 0;
        Task<List<int>> run = new[] { 1 }.SelectParallelAsync(
            (x, _) => Interlocked.Increment(ref calls) < 12 ? throw new FormatException() : new ValueTask<int>(x),
            Options with
            {
                MaxRetries = 11, IsTransient = IsWrong, BaseDelay = TimeSpan.Zero, RateLimit = new RateLimitOptions { TokensPerSecond = 10, BurstCapacity = 1 },
            });
        await _time.DriveAsync(run, TimeSpan.FromMilliseconds(10));
        Assert.Equal([1], await run);
        Assert.InRange(TimeSpan.FromTicks(_time.GetTimestamp()), Second * 1.1, Second * 1.5);
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task RateLimit_ManyItemsWait_NoneIsOvertakenByMoreThanAreInFlight()
    {
        ConcurrentQueue<int> order = new();
        TokenBucket bucket = new(new() { TokensPerSecond = 100, BurstCapacity = 1, TimeProvider = _time });

        // Nobody gets in without a wait, past one that was claimed before and has not asked yet.
        Assert.True(bucket.TryEnter());
        Task run = Enumerable.Range(0, 100).ForEachParallelAsync(
            (x, _) =>
            {
                order.Enqueue(x);
                return default;
            },
            Options with { RateLimit = bucket });
        while (!run.IsCompleted)
        {
            // The clock moves when all in flight wait for their tokens, 10 ms each, so that none can be late for another reason.
            if (_time.ArmedTimers == 1 && bucket.RetryAfter > TimeSpan.FromMilliseconds(10 * Math.Min(4, 100 - order.Count)))
            {
                _time.Advance(TimeSpan.FromMilliseconds(1));
            }

            await Task.Yield();
        }

        await run;
        int[] started = [.. order];
        Assert.Equal(100, started.Length);
        for (int i = 0; i < started.Length; i++)
        {
            Assert.InRange(started[i], i - 3, i + 3);
        }
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task CircuitBreaker_CallsCancelledByTheCaller_StaysClosed()
    {
        CircuitBreaker breaker = new(new CircuitBreakerOptions { FailureThreshold = 1, TimeProvider = _time });
        using CancellationTokenSource cancel = new();
        ConcurrencyProbe probe = new();
        Task<List<int>> run = Enumerable.Range(0, 20).SelectParallelAsync(
            async (x, token) =>
            {
                using ConcurrencyProbe.Stay stay = probe.Enter();
                await Task.Delay(Timeout.InfiniteTimeSpan, _time, token);
                return x;
            },
            Options with { CircuitBreaker = breaker },
            cancel.Token);
        await probe.InsideAsync(4);
        await cancel.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => run.WithinAsync());
        Assert.Equal(CircuitBreakerState.Closed, breaker.State);
        Assert.True(breaker.TryEnter(out _));
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task CircuitBreaker_LateSuccessOfAnOlderState_DoesNotCloseIt()
    {
        CircuitBreaker breaker = new(new CircuitBreakerOptions { FailureThreshold = 1, SuccessThreshold = 1, OpenTimeout = Second, TimeProvider = _time });
        ParallelRunOptions options = Options with { CircuitBreaker = breaker };
        using Gate old = new();
        using Gate probe = new();
        ConcurrencyProbe inside = new();
        Task<ItemOutcome<int, int>[]> first = new[] { 1 }.SelectParallelOutcomesAsync(Through(old, inside), options);
        await inside.EnteredAsync(1);
        await new[] { 2 }.SelectParallelOutcomesAsync<int, int>(static (_, _) => throw new FormatException(), options);
        Assert.Equal(CircuitBreakerState.Open, breaker.State);
        _time.Advance(Second);
        Task<ItemOutcome<int, int>[]> second = new[] { 3 }.SelectParallelOutcomesAsync(Through(probe, inside), options);
        await inside.EnteredAsync(2);
        old.Open();
        Assert.True((await first.WithinAsync())[0].IsSuccess);
        Assert.Equal(CircuitBreakerState.HalfOpen, breaker.State);
        probe.Open();
        Assert.True((await second.WithinAsync())[0].IsSuccess);
        Assert.Equal(CircuitBreakerState.Closed, breaker.State);
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task CircuitBreaker_ItemLimitOfACallThatHeedsItsToken_CountsAsFailure()
    {
        CircuitBreaker breaker = new(new CircuitBreakerOptions { FailureThreshold = 1, OpenTimeout = Second * 100, TimeProvider = _time });
        bool begun = false;
        Task<ItemOutcome<int, int>[]> run = new[] { 1 }.SelectParallelOutcomesAsync(
            async (x, token) =>
            {
                Volatile.Write(ref begun, true);
                await Task.Delay(Timeout.InfiniteTimeSpan, _time, token);
                return x;
            },
            Options with { CircuitBreaker = breaker, PerItemTimeout = Second });
        await _time.DriveAsync(run, Second, () => Volatile.Read(ref begun));
        Assert.Equal(ItemStatus.TimedOut, (await run)[0].Status);
        await Guard.UntilAsync(() => breaker.State == CircuitBreakerState.Open, "the circuit that hears of the item's limit");
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task CircuitBreaker_RefusedInsideTheCall_CountsOpenCircuitsAndNoLimits()
    {
        CircuitBreaker breaker = new(new CircuitBreakerOptions { FailureThreshold = 2, TimeProvider = _time });
        await new[] { 1, 2, 3 }.SelectParallelOutcomesAsync<int, int>(
            static (x, _) => x switch
            {
                1 => throw new CircuitBreakerOpenException(),
                2 => throw new RateLimitRejectedException(),
                _ => throw new ConcurrencyLimitRejectedException(),
            },
            Options with { CircuitBreaker = breaker, MaxDegreeOfParallelism = 1 });
        Assert.Equal(CircuitBreakerState.Closed, breaker.State);
        await new[] { 1 }.SelectParallelOutcomesAsync<int, int>(static (_, _) => throw new CircuitBreakerOpenException(), Options with { CircuitBreaker = breaker });
        Assert.Equal(CircuitBreakerState.Open, breaker.State);
    }

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(true)]
    [InlineData(false)]
    public async Task AttemptTimeout_InsideOtherPolicies_LeavesNoTimer(bool hangs)
    {
        TaskCompletionSource<int> never = new();
        int succeeds = hangs ? 5 : 8;
        int ended = 0;
        Task<ItemOutcome<int, int>[]> run = Enumerable.Range(0, 8).SelectParallelOutcomesAsync(
            (x, _) => hangs && x % 3 == 0 ? new ValueTask<int>(never.Task) : new ValueTask<int>(x),
            Options with
            {
                CircuitBreaker = new CircuitBreakerOptions { FailureThreshold = 100 },
                AttemptTimeout = Second,
                OnCompleteItemAsync = _ =>
                {
                    Interlocked.Increment(ref ended);
                    return default;
                },
            });
        await _time.DriveAsync(run, Second / 4, () => Volatile.Read(ref ended) == succeeds);
        Assert.Equal(succeeds, (await run).Count(static o => o.IsSuccess));
        Assert.Equal(0, _time.LiveTimers);
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Runs_OverATokenThatLives_LeaveNothingBehind()
    {
        using CancellationTokenSource lives = new();
        List<WeakReference> left = [];
        for (int i = 0; i < 20; i++)
        {
            await RunOnce(left, lives.Token);
        }

        await Leak.GoneAsync(left, "runs whose token lives on");
        Assert.Equal(0, _time.LiveTimers);
    }

    private async Task RunOnce(List<WeakReference> left, CancellationToken token)
    {
        object mark = new();
        left.Add(new WeakReference(mark));
        Task<ItemOutcome<int, int>[]> run = Enumerable.Range(0, 10).SelectParallelOutcomesAsync(
            async (x, _) =>
            {
                await Task.Yield();
                GC.KeepAlive(mark);
                return x % 3 == 0 ? throw new FormatException() : x;
            },
            Options with
            {
                MaxRetries = 1,
                IsTransient = IsWrong,
                AttemptTimeout = Second * 50,
                PerItemTimeout = Second * 100,
                CircuitBreaker = new CircuitBreakerOptions { FailureThreshold = 2, OpenTimeout = Second },
                OpenCircuitMode = OpenCircuitMode.WaitForHalfOpen,
                RateLimit = new RateLimitOptions(),
            },
            token);
        await _time.DriveAsync(run, Second / 10);
        await run;
    }

    private static Func<int, CancellationToken, ValueTask<int>> Through(Gate gate, ConcurrencyProbe probe) => async (x, _) =>
    {
        using ConcurrencyProbe.Stay stay = probe.Enter();
        await gate.WaitAsync();
        return x;
    };
}
