using Weir.TestKit;

namespace Weir.Resilience.Tests.Faults;

/// <summary>The clock of a rate limit fails when an attempt has its place already.</summary>
public sealed class FailedRateLimitTests
{
    private const int Timeout = 90_000;

    private readonly ManualTimeProvider _time = new();
    private readonly FaultyTimeProvider _clock;

    public FailedRateLimitTests() => _clock = new FaultyTimeProvider(_time);

    private static CancellationToken Token => TestContext.Current.CancellationToken;

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
        _clock.FailAfter(0);
        await Assert.ThrowsAsync<IOException>(async () => await chain.ExecuteAsync(static _ => new ValueTask<int>(1), Token));
        _clock.Work();
        Assert.Equal(0, limit.InUse);
        Assert.Equal(2, await chain.ExecuteAsync(static _ => new ValueTask<int>(2), Token).WithinAsync("the next call"));
    }
}
