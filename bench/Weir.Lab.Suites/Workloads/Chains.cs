namespace Weir.Lab.Suites.Workloads;

/// <summary>Policies around single calls, with values at which none acts; those of the breaker are Polly's defaults.</summary>
internal static class Chains
{
    public const int Retries = 3;
    public const int Tokens = 1_000_000_000;

    public static readonly TimeSpan Limit = TimeSpan.FromSeconds(30);

    public static PolicyChain Empty() => new(new PolicyChainOptions());

    public static PolicyChain Retry() => new(new PolicyChainOptions { Retry = new() { MaxRetries = Retries } });

    public static PolicyChain CircuitBreaker() => new(new PolicyChainOptions { CircuitBreaker = Breaker() });

    public static PolicyChain Timeout() => new(new PolicyChainOptions { AttemptTimeout = Limit });

    public static PolicyChain RateLimit() => new(new PolicyChainOptions { RateLimit = Bucket() });

    public static PolicyChain All() => new(new PolicyChainOptions
    {
        TotalTimeout = Limit,
        Retry = new() { MaxRetries = Retries },
        CircuitBreaker = Breaker(),
        RateLimit = Bucket(),
        AttemptTimeout = Limit,
    });

    /// <summary>What a service under load needs: retries with a budget, a breaker that knows slow calls, an adaptive limit, a rate limit and a time limit.</summary>
    public static PolicyChain Five() => new(new PolicyChainOptions
    {
        TotalTimeout = Limit,
        Retry = new() { MaxRetries = Retries, Budget = new RetryBudget() },
        CircuitBreaker = SlowCalls(),
        ConcurrencyLimit = new AdaptiveLimit(),
        RateLimit = Bucket(),
    });

    public static CircuitBreaker SlowCalls() => new(BreakerOptions() with { SlowCallDuration = TimeSpan.FromSeconds(1) });

    /// <summary>The policies of <see cref="All"/> as options of a run.</summary>
    public static ParallelRunOptions Run(int most) => new()
    {
        MaxDegreeOfParallelism = most,
        PerItemTimeout = Limit,
        MaxRetries = Retries,
        CircuitBreaker = BreakerOptions(),
        RateLimit = new RateLimitOptions { TokensPerSecond = Tokens, BurstCapacity = Tokens },
        AttemptTimeout = Limit,
    };

    /// <summary>Makes so many calls through a chain, one after the other.</summary>
    /// <returns>The sum of their results.</returns>
    public static async Task<long> SumAsync(PolicyChain chain, ItemCall call, int n)
    {
        long sum = 0;
        for (int i = 0; i < n; i++)
        {
            sum += await chain.ExecuteAsync(static (state, token) => state.call(state.i, token), (call, i), CancellationToken.None);
        }

        return sum;
    }

    private static CircuitBreaker Breaker() => new(BreakerOptions());

    private static CircuitBreakerOptions BreakerOptions() =>
        new() { FailureRatio = 0.1, MinimumThroughput = 100, SamplingDuration = TimeSpan.FromSeconds(30), OpenTimeout = TimeSpan.FromSeconds(5) };

    private static TokenBucket Bucket() => new(new RateLimitOptions { TokensPerSecond = Tokens, BurstCapacity = Tokens });
}
