using Polly;
using Polly.Hedging;
using Polly.Retry;
using Weir.Polly;
using Weir.Resilience;

namespace Weir.Tests.Docs;

/// <summary>The examples of docs/operators/policies.md and docs/polly.md, word for word.</summary>
internal static class PolicyExamples
{
    public static async Task<IReadOnlyList<ItemOutcome<Page>>> PoliciesAsync(IEnumerable<Uri> urls)
    {
        var breaker = new CircuitBreaker(new CircuitBreakerOptions { FailureThreshold = 10, OpenTimeout = TimeSpan.FromSeconds(15) });

        ItemOutcome<Page>[] pages = await urls.SelectParallelOutcomesAsync(
            (url, token) => FetchAsync(url, token),
            new ParallelRunOptions
            {
                MaxDegreeOfParallelism = 32,
                PerItemTimeout = TimeSpan.FromMinutes(2),
                MaxRetries = 3,
                BaseDelay = TimeSpan.FromMilliseconds(200),
                BackoffStrategy = BackoffStrategy.ExponentialJitter,
                SharedCircuitBreaker = breaker,
                OpenCircuitMode = OpenCircuitMode.WaitForHalfOpen,
                RateLimit = new RateLimitOptions { TokensPerSecond = 50, BurstCapacity = 10 },
                AttemptTimeout = TimeSpan.FromSeconds(10),
                OnFallback = Fallback.Of((index, error) => Page.Missing),
            });
        return pages;
    }

    public static async Task<IReadOnlyList<Page>> PollyAsync(IEnumerable<Uri> urls)
    {
        ResiliencePipeline<Page> pipeline = new ResiliencePipelineBuilder<Page>()
            .AddRetry(new RetryStrategyOptions<Page> { MaxRetryAttempts = 3 })
            .AddHedging(new HedgingStrategyOptions<Page> { MaxHedgedAttempts = 1, Delay = TimeSpan.FromMilliseconds(300) })
            .AddTimeout(TimeSpan.FromSeconds(5))
            .Build();

        List<Page> pages = await urls.SelectParallelAsync(
            pipeline.Around((Uri url, CancellationToken token) => FetchAsync(url, token)),
            new ParallelRunOptions { MaxDegreeOfParallelism = 32 });
        return pages;
    }

    private static ValueTask<Page> FetchAsync(Uri url, CancellationToken token) => new(new Page(url.AbsolutePath));

    internal sealed record Page(string Text)
    {
        public static Page Missing { get; } = new("");
    }
}
