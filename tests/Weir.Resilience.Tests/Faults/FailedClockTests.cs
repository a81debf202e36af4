namespace Weir.Resilience.Tests.Faults;

/// <summary>A clock of the user's that fails when a call begins or has its place already: the call fails, and nothing of it stays behind.</summary>
public sealed class FailedClockTests
{
    private const int Timeout = 90_000;

    private readonly ManualTimeProvider _time = new();
    private readonly FaultyTimeProvider _clock;

    public FailedClockTests() => _clock = new FaultyTimeProvider(_time);

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact(Timeout = Timeout)]
    public async Task Breaker_CannotTellTheTimeOfASuccess_ThePlaceComesBack()
    {
        SharedConcurrencyLimit limit = new(1);
        CircuitBreaker breaker = new(new CircuitBreakerOptions { FailureRatio = 0.5, SamplingDuration = TimeSpan.FromSeconds(10), TimeProvider = _clock });
        PolicyChain<int> chain = new(new PolicyChainOptions<int> { CircuitBreaker = breaker, ConcurrencyLimit = limit });
        await AssertThePlaceComesBackAsync(chain, limit);
    }

    // The clock is asked when the call enters, and when it has ended.
    [Theory(Timeout = Timeout)]
    [InlineData(0)]
    [InlineData(1)]
    public async Task Breaker_CannotTellTheTimeOfACallThatMayBeSlow_ThePlaceComesBack(int readsBefore)
    {
        SharedConcurrencyLimit limit = new(1);
        CircuitBreaker breaker = new(new CircuitBreakerOptions
        {
            SlowCallDuration = TimeSpan.FromSeconds(1), SamplingDuration = TimeSpan.FromSeconds(10), TimeProvider = _clock,
        });
        PolicyChain<int> chain = new(new PolicyChainOptions<int> { CircuitBreaker = breaker, ConcurrencyLimit = limit });
        await AssertThePlaceComesBackAsync(chain, limit, readsBefore);
    }

    [Theory(Timeout = Timeout)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task RateLimit_CannotTellTheTime_ThePlaceComesBack(bool hasBreaker)
    {
        SharedConcurrencyLimit limit = new(1);
        CircuitBreaker? breaker = hasBreaker ? new CircuitBreaker(new CircuitBreakerOptions { FailureThreshold = 1, TimeProvider = _time }) : null;
        PolicyChain<int> chain = new(new PolicyChainOptions<int>
        {
            CircuitBreaker = breaker,
            ConcurrencyLimit = limit,
            RateLimit = new RateLimitOptions { TimeProvider = _clock },
        });
        await AssertThePlaceComesBackAsync(chain, limit);
    }

    [Fact(Timeout = Timeout)]
    public async Task RateLimitOfAKey_CannotTellTheTime_TheKeyIsForgottenAllTheSame()
    {
        RateLimits<int> limits = RateLimits.ByKey<int, int>(static item => item, new RateLimitOptions { TimeProvider = _clock });
        PolicyChain<int> chain = new(new PolicyChainOptions<int> { RateLimit = limits });
        limits.Get(-1);
        _clock.FailAfter(0);
        await Assert.ThrowsAsync<IOException>(async () => await chain.For(-1).ExecuteAsync(static _ => new ValueTask<int>(1), Token));
        _clock.Work();
        for (int key = 0; key < 5_000; key++)
        {
            limits.Get(key);
        }

        Assert.DoesNotContain(-1, limits.GetAll().Select(static limit => limit.Key));
    }

    private async Task AssertThePlaceComesBackAsync(PolicyChain<int> chain, SharedConcurrencyLimit limit, int readsBefore = 0)
    {
        _clock.FailAfter(readsBefore);
        await Assert.ThrowsAsync<IOException>(async () => await chain.ExecuteAsync(static _ => new ValueTask<int>(1), Token));
        _clock.Work();
        Assert.Equal(0, limit.InUse);
        Assert.Equal(2, await chain.ExecuteAsync(static _ => new ValueTask<int>(2), Token).WithinAsync("the next call"));
    }
}
