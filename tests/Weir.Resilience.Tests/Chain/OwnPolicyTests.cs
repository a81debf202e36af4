namespace Weir.Resilience.Tests.Chain;

/// <summary>A chain makes the policies that its options describe, once for all of its calls.</summary>
public class OwnPolicyTests
{
    [Fact]
    public async Task CircuitBreakerOptions_OfAChainOfAnyResult_AreOneCircuitForAllResults()
    {
        PolicyChain chain = new(new PolicyChainOptions { CircuitBreaker = new CircuitBreakerOptions { FailureThreshold = 1 } });
        await Assert.ThrowsAsync<IOException>(async () => await chain.ExecuteAsync<int>(static _ => throw new IOException()));
        await Assert.ThrowsAsync<CircuitBreakerOpenException>(async () => await chain.ExecuteAsync(static _ => new ValueTask<string>("")));
        await Assert.ThrowsAsync<CircuitBreakerOpenException>(async () => await chain.ExecuteAsync(static _ => default(ValueTask)));
    }

    [Fact]
    public async Task RateLimitOptions_OfAChain_AreTakenByTheClockOfTheChain()
    {
        ManualTimeProvider clock = new();
        PolicyChain<int> chain = new(new PolicyChainOptions<int>
        {
            RateLimit = new RateLimitOptions { TokensPerSecond = 1, BurstCapacity = 1 }, TimeProvider = clock,
        });
        Assert.Equal(1, await chain.ExecuteAsync(static _ => new ValueTask<int>(1)));
        ValueTask<int> second = chain.ExecuteAsync(static _ => new ValueTask<int>(2));
        Assert.False(second.IsCompleted);
        clock.Advance(TimeSpan.FromSeconds(1));
        Assert.Equal(2, await second.AsTask().WaitAsync(TimeSpan.FromSeconds(60)));
    }

    [Fact]
    public void Settings_OfTypesOfOthers_AreRefusedByName()
    {
        CircuitBreakerOptions breaker = new CircuitBreaker();
        RateLimitOptions bucket = new TokenBucket();
        Assert.True(breaker.IsShared && bucket.IsShared);
        Assert.Throws<ArgumentException>("CircuitBreaker", () => new PolicyChain(new() { CircuitBreaker = breaker with { Name = "name" } }));
        Assert.Throws<ArgumentException>("RateLimit", () => new PolicyChain(new() { RateLimit = bucket with { BurstCapacity = 100 } }));
        Assert.Throws<ArgumentException>(() => new CircuitBreaker(breaker));
        Assert.Throws<ArgumentException>(() => new TokenBucket(bucket));
        Assert.Throws<ArgumentException>("ConcurrencyLimit", static () => new PolicyChain(new() { ConcurrencyLimit = new Other() }));
        Assert.Throws<ArgumentOutOfRangeException>(
            "FailureThreshold", static () => new PolicyChain(new() { CircuitBreaker = new CircuitBreakerOptions { FailureThreshold = 0 } }));
    }

    private sealed class Other : IConcurrencyLimitSetting;
}
