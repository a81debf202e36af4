using Breakers = Weir.Resilience.CircuitBreakers;

namespace Weir.Resilience.Tests.Chain;

/// <summary>A wait that would end after the total time of its call is not begun: the call ends at once, and says why. The clock of these tests stands still.</summary>
public sealed class HopelessWaitTests
{
    private const int Limit = 60_000;

    private static readonly TimeSpan Second = TimeSpan.FromSeconds(1);

    private readonly ManualTimeProvider _clock = new();
    private int _attempts;

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    private PolicyChainOptions<int> Options => new() { TotalTimeout = Second, TimeProvider = _clock };

    private RateLimitOptions OneAMinute => new() { TokensPerSecond = 1.0 / 60, BurstCapacity = 1, TimeProvider = _clock };

    [Theory(Timeout = Limit)]
    [InlineData("alone")]
    [InlineData("breaker")]
    [InlineData("limit")]
    [InlineData("both")]
    [InlineData("key")]
    public async Task RateLimit_TokensComeTooLate_RefusesAtOnceAndKeepsNothing(string beside)
    {
        TokenBucket bucket = new(OneAMinute);
        SharedConcurrencyLimit limit = new(1);
        PolicyChain<int> chain = new(Options with
        {
            RateLimit = beside == "key" ? RateLimits.ByKey<int, int>(static item => item, OneAMinute) : bucket,
            CircuitBreaker = beside is "breaker" or "both" ? new CircuitBreaker() : null,
            ConcurrencyLimit = beside is "limit" or "both" ? limit : null,
        });
        chain = beside == "key" ? chain.For(1) : chain;
        Assert.Equal(1, await chain.ExecuteAsync(static _ => 1, Token));
        ValueTask<int> refused = chain.ExecuteAsync(static _ => 2, Token);
        RateLimitRejectedException reason = await Assert.ThrowsAsync<RateLimitRejectedException>(async () => await refused.AsTask().WithinAsync("the call"));
        Assert.Equal(TimeSpan.FromMinutes(1), reason.RetryAfter);
        Assert.Equal("The call was not made: it would have waited 00:01:00 for its tokens, and 00:00:01 of its time was left.", reason.Message);
        Assert.Equal((0, 0), (bucket.Waiting, limit.InUse));

        // It took no tokens.
        _clock.Advance(TimeSpan.FromMinutes(1));
        Assert.Equal(3, await chain.ExecuteAsync(static _ => 3, Token));
    }

    [Fact(Timeout = Limit)]
    public async Task RateLimit_TokensComeJustInTime_Waits()
    {
        PolicyChain<int> chain = new(Options with { RateLimit = new RateLimitOptions { TokensPerSecond = 1, BurstCapacity = 1 }, TotalTimeout = Second * 2.5 });
        Assert.Equal(0, await chain.ExecuteAsync(static _ => 0, Token));
        ValueTask<int> first = chain.ExecuteAsync(static _ => 1, Token);
        ValueTask<int> second = chain.ExecuteAsync(static _ => 2, Token);
        Assert.Equal((false, false), (first.IsCompleted, second.IsCompleted));

        // Behind the two that wait, its turn would come after three seconds.
        await Assert.ThrowsAsync<RateLimitRejectedException>(async () => await chain.ExecuteAsync(static _ => 3, Token));
        _clock.Advance(Second);
        Assert.Equal(1, await first.AsTask().WithinAsync("the first call"));
        await Guard.UntilAsync(() => _clock.NextDue == Second * 2, "the wait of the second call");
        _clock.Advance(Second);
        Assert.Equal(2, await second.AsTask().WithinAsync("the second call"));
    }

    [Fact(Timeout = Limit)]
    public async Task RateLimit_HalfOpenCircuit_GivesItsProbeBack()
    {
        CircuitBreaker breaker = new(new CircuitBreakerOptions { FailureThreshold = 1, SuccessThreshold = 1, TimeProvider = _clock });
        TokenBucket bucket = new(OneAMinute);
        PolicyChain<int> chain = new(Options with { CircuitBreaker = breaker, RateLimit = bucket });
        Assert.True(bucket.TryEnter());
        breaker.Open();
        _clock.Advance(TimeSpan.FromSeconds(30));
        await Assert.ThrowsAsync<RateLimitRejectedException>(async () => await chain.ExecuteAsync(static _ => 1, Token));
        Assert.Equal((CircuitBreakerState.HalfOpen, TimeSpan.Zero), (breaker.State, breaker.RetryAfter));
    }

    [Theory(Timeout = Limit)]
    [InlineData("open")]
    [InlineData("isolated")]
    [InlineData("in time")]
    [InlineData("probes")]
    public async Task Circuit_OpensTooLate_RefusesAtOnceUnlessItMayCloseBefore(string how)
    {
        CircuitBreaker breaker = new(new CircuitBreakerOptions { OpenTimeout = how == "in time" ? Second : Second * 30, SuccessThreshold = 1, TimeProvider = _clock });
        PolicyChain<int> chain = new(Options with { CircuitBreaker = breaker, OpenCircuitMode = OpenCircuitMode.WaitForHalfOpen });
        if (how == "isolated")
        {
            breaker.Isolate();
        }
        else
        {
            breaker.Open();
        }

        if (how == "probes")
        {
            _clock.Advance(Second * 30);
            Assert.True(breaker.TryEnter(out _));
        }

        ValueTask<int> call = chain.ExecuteAsync(static _ => 1, Token);
        if (how != "open")
        {
            Assert.False(call.IsCompleted);
            breaker.Close();
            Assert.Equal(1, await call.AsTask().WithinAsync("the call"));
            return;
        }

        CircuitBreakerOpenException reason = await Assert.ThrowsAsync<CircuitBreakerOpenException>(async () => await call.AsTask().WithinAsync("the call"));
        Assert.Equal("The call was not made: it would have waited 00:00:30 for the open circuit, and 00:00:01 of its time was left.", reason.Message);
        Assert.Equal((CircuitBreakerState.Open, Second * 30), (reason.State, reason.RetryAfter));
    }

    [Fact(Timeout = Limit)]
    public async Task ClockFails_WaitsAsIfThereWereNoDeadline()
    {
        FaultyTimeProvider clock = new(new ManualTimeProvider());
        clock.FailAfter(1);
        TokenBucket bucket = new(OneAMinute);
        Assert.True(bucket.TryEnter());
        PolicyChain<int> chain = new(Options with { RateLimit = bucket, TimeProvider = clock });
        ValueTask<int> call = chain.ExecuteAsync(_ => 1, Token);
        Assert.False(call.IsCompleted);
        _clock.Advance(TimeSpan.FromMinutes(1));
        Assert.Equal(1, await call.AsTask().WithinAsync("the call"));
    }

    [Theory(Timeout = Limit)]
    [InlineData(1_001, 1)]
    [InlineData(1_000, 2)]
    public async Task Retry_DelayIsLongerThanTheRest_FailsWithItsOwnErrorAtOnce(int delay, int attempts)
    {
        RetryBudget budget = new(1, 0, _clock);
        bool hooked = false;
        PolicyChain<int> chain = new(Options with
        {
            Retry = new RetryOptions
            {
                BaseDelay = TimeSpan.FromMilliseconds(delay), BackoffStrategy = BackoffStrategy.Exponential, MaxRetries = 1, Budget = budget,
                OnRetryAsync = (_, _) =>
                {
                    hooked = true;
                    return default;
                },
            },
        });
        ValueTask<int> call = chain.ExecuteAsync(Fail, Token);
        if (attempts == 1)
        {
            await Assert.ThrowsAsync<TimeoutException>(async () => await call.AsTask().WithinAsync("the call"));
            Assert.Equal((1, false, 1.0), (_attempts, hooked, budget.Balance));
        }
        else
        {
            Assert.Equal((false, true, 0.0), (call.IsCompleted, hooked, budget.Balance));
            _clock.Advance(Second);
            await Assert.ThrowsAnyAsync<Exception>(async () => await call.AsTask().WithinAsync("the call"));
        }
    }

    // The time that the attempt took is no longer there.
    [Theory(Timeout = Limit)]
    [InlineData(800, 2)]
    [InlineData(950, 1)]
    public async Task Retry_AttemptTookMostOfTheTime_IsMadeOnlyInTime(int took, int attempts)
    {
        PolicyChain<int> chain = new(Options with
        {
            Retry = new RetryOptions { BaseDelay = Second / 10, BackoffStrategy = BackoffStrategy.Exponential, MaxRetries = 1 },
        });
        TaskCompletionSource<int> first = new();
        ValueTask<int> call = chain.ExecuteAsync(_ => ++_attempts == 1 ? new ValueTask<int>(first.Task) : new ValueTask<int>(2), Token);
        _clock.Advance(TimeSpan.FromMilliseconds(took));
        first.SetException(new TimeoutException());
        if (attempts == 1)
        {
            await Assert.ThrowsAsync<TimeoutException>(async () => await call.AsTask().WithinAsync("the call"));
        }
        else
        {
            await Guard.UntilAsync(() => _clock.NextDue == TimeSpan.FromMilliseconds(900), "the delay");
            _clock.Advance(Second / 10);
            Assert.Equal(2, await call.AsTask().WithinAsync("the call"));
        }

        Assert.Equal(attempts, _attempts);
    }

    [Fact(Timeout = Limit)]
    public async Task Retry_OfARefusedResult_ReturnsTheResultAtOnce()
    {
        PolicyChain<int> chain = new(Options with
        {
            Retry = new RetryOptions(),
            ShouldRetry = static outcome => outcome.HasResult,
            DelayHint = static _ => TimeSpan.FromMinutes(1),
        });
        Assert.Equal(5, await chain.ExecuteAsync(static _ => 5, Token).AsTask().WithinAsync("the call"));
    }

    [Fact(Timeout = Limit)]
    public async Task Fallback_GetsTheReason()
    {
        Exception? reason = null;
        TokenBucket bucket = new(OneAMinute);
        Assert.True(bucket.TryEnter());
        PolicyChain<int> chain = new(Options with
        {
            RateLimit = bucket,
            Fallback = new FallbackOptions<int>
            {
                Handler = (error, _) =>
                {
                    reason = error;
                    return new ValueTask<int>(7);
                },
            },
        });
        Assert.Equal(7, await chain.ExecuteAsync(static _ => 1, Token).AsTask().WithinAsync("the call"));
        Assert.IsType<RateLimitRejectedException>(reason);
    }

    /// <summary>It can be read once, by the time limit.</summary>
    private ValueTask<int> Fail(CancellationToken token)
    {
        _attempts++;
        return ValueTask.FromException<int>(new TimeoutException());
    }
}
