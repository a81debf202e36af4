using System.Threading.RateLimiting;
using Polly.CircuitBreaker;
using Polly.Retry;

namespace Weir.Lab.Suites.Peers;

/// <summary>Polly's strategies as its documentation recommends them, with values at which none acts. <see cref="Workloads.Chains"/> has Weir's.</summary>
internal static class PollyPipelines
{
    public static ResiliencePipeline Empty { get; } = new ResiliencePipelineBuilder().Build();

    public static ResiliencePipeline Retry() => new ResiliencePipelineBuilder().AddRetry(Retries()).Build();

    public static ResiliencePipeline CircuitBreaker() => new ResiliencePipelineBuilder().AddCircuitBreaker(new CircuitBreakerStrategyOptions()).Build();

    public static ResiliencePipeline Timeout() => new ResiliencePipelineBuilder().AddTimeout(Chains.Limit).Build();

    public static ResiliencePipeline RateLimit() => new ResiliencePipelineBuilder().AddRateLimiter(Bucket()).Build();

    /// <summary>A limit of the whole call, retries, a breaker, a rate limit and a limit of each attempt, in the order of a <c>PolicyChain</c>.</summary>
    public static ResiliencePipeline All() => new ResiliencePipelineBuilder()
        .AddTimeout(Chains.Limit)
        .AddRetry(Retries())
        .AddCircuitBreaker(new CircuitBreakerStrategyOptions())
        .AddRateLimiter(Bucket())
        .AddTimeout(Chains.Limit)
        .Build();

    private static RetryStrategyOptions Retries() => new() { MaxRetryAttempts = Chains.Retries, BackoffType = DelayBackoffType.Exponential, UseJitter = true };

    private static TokenBucketRateLimiter Bucket() => new(new TokenBucketRateLimiterOptions
    {
        TokenLimit = Chains.Tokens,
        TokensPerPeriod = Chains.Tokens,
        ReplenishmentPeriod = TimeSpan.FromSeconds(1),
        QueueLimit = int.MaxValue,
    });
}
