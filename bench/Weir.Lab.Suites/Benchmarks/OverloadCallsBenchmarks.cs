namespace Weir.Lab.Suites;

/// <summary>What the policies against overload cost around a single call that succeeds at once, each beside the one that it extends, and five of them together.</summary>
[SuiteInfo(
    73,
    "Policies against overload, around one call",
    "Five policies together at most 350 ns a call, and no byte a call.",
    Set = SuiteSet.Resilience)]
public class OverloadCallsBenchmarks : Suite
{
    private static readonly string[] Arms =
        ["Limit_WeirShared", "Limit_WeirAdaptive", "Breaker_WeirFailures", "Breaker_WeirSlowCalls", "Retry_WeirAlone", "Retry_WeirBudget", "Five_WeirPolicies"];

    private readonly PolicyChain _shared = new(new PolicyChainOptions { ConcurrencyLimit = new SharedConcurrencyLimit(64) });
    private readonly PolicyChain _adaptive = new(new PolicyChainOptions { ConcurrencyLimit = new AdaptiveLimit() });
    private readonly PolicyChain _failures = Chains.CircuitBreaker();
    private readonly PolicyChain _slowCalls = new(new PolicyChainOptions { CircuitBreaker = Chains.SlowCalls() });
    private readonly PolicyChain _retry = Chains.Retry();
    private readonly PolicyChain _budget = new(new PolicyChainOptions { Retry = Retries() });
    private readonly PolicyChain _empty = Chains.Empty();
    private readonly PolicyChain _five = Chains.Five();
    private ItemCall _call = null!;
    private long[] _sum = null!;

    /// <summary>How many calls an arm makes, one after the other.</summary>
    public override int N { get; set; } = 10_000;

    internal override IEnumerable<Goal> Goals =>
    [
        Goal.TimePerRun(nameof(Five_WeirPolicies), TimeSpan.FromMicroseconds(0.35 * N)),
        .. Arms.Select(static arm => Goal.BytesPerItem(arm, 0.1)),
    ];

    [Benchmark(Baseline = true)]
    [BenchmarkCategory("concurrency limit")]
    public Task<long[]> Limit_WeirShared() => CallAsync(_shared);

    [Benchmark]
    [BenchmarkCategory("concurrency limit")]
    public Task<long[]> Limit_WeirAdaptive() => CallAsync(_adaptive);

    [Benchmark(Baseline = true)]
    [BenchmarkCategory("circuit breaker")]
    public Task<long[]> Breaker_WeirFailures() => CallAsync(_failures);

    [Benchmark]
    [BenchmarkCategory("circuit breaker")]
    public Task<long[]> Breaker_WeirSlowCalls() => CallAsync(_slowCalls);

    [Benchmark(Baseline = true)]
    [BenchmarkCategory("retries")]
    public Task<long[]> Retry_WeirAlone() => CallAsync(_retry);

    [Benchmark]
    [BenchmarkCategory("retries")]
    public Task<long[]> Retry_WeirBudget() => CallAsync(_budget);

    [Benchmark(Baseline = true)]
    [BenchmarkCategory("retries with a budget, breaker with slow calls, adaptive limit, rate limit, time limit")]
    public Task<long[]> No_WeirPolicy() => CallAsync(_empty);

    [Benchmark]
    [BenchmarkCategory("retries with a budget, breaker with slow calls, adaptive limit, rate limit, time limit")]
    public Task<long[]> Five_WeirPolicies() => CallAsync(_five);

    private protected override void Prepare(CallCounter? counter)
    {
        _call = CallCounter.Around(counter, ItemCalls.Light);
        _sum = new long[1];
    }

    private static RetryOptions Retries() => new() { MaxRetries = Chains.Retries, Budget = new RetryBudget() };

    private async Task<long[]> CallAsync(PolicyChain chain)
    {
        _sum[0] = await Chains.SumAsync(chain, _call, N);
        return _sum;
    }
}
