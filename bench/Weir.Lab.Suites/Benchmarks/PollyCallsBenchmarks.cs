namespace Weir.Lab.Suites;

/// <summary>What policies cost around a single call that succeeds at once: a chain of Weir's, and a pipeline of Polly's.</summary>
/// <remarks>Both get a state and a static delegate, as Polly's documentation recommends, and each call is awaited.</remarks>
[SuiteInfo(
    70,
    "Policies around one call, beside Polly",
    "Less time than Polly's pipeline, and no byte a call.",
    Set = SuiteSet.Resilience)]
public class PollyCallsBenchmarks : Suite
{
    private static readonly string[] Policies = ["Empty", "Retry", "CircuitBreaker", "Timeout", "RateLimit", "All"];

    private readonly PolicyChain _empty = Chains.Empty();
    private readonly PolicyChain _retry = Chains.Retry();
    private readonly PolicyChain _breaker = Chains.CircuitBreaker();
    private readonly PolicyChain _timeout = Chains.Timeout();
    private readonly PolicyChain _rate = Chains.RateLimit();
    private readonly PolicyChain _all = Chains.All();
    private readonly ResiliencePipeline _pollyRetry = PollyPipelines.Retry();
    private readonly ResiliencePipeline _pollyBreaker = PollyPipelines.CircuitBreaker();
    private readonly ResiliencePipeline _pollyTimeout = PollyPipelines.Timeout();
    private readonly ResiliencePipeline _pollyRate = PollyPipelines.RateLimit();
    private readonly ResiliencePipeline _pollyAll = PollyPipelines.All();
    private ItemCall _call = null!;
    private long[] _sum = null!;

    /// <summary>How many calls an arm makes, one after the other.</summary>
    public override int N { get; set; } = 10_000;

    internal override IEnumerable<Goal> Goals => Policies.SelectMany(static policy => new[]
    {
        Goal.TimeRatio($"{policy}_Weir", $"{policy}_Polly", 1),
        Goal.BytesPerItem($"{policy}_Weir", 0.1),
    });

    [Benchmark(Baseline = true)]
    [BenchmarkCategory("no policy")]
    public Task<long[]> Empty_Polly() => PipelineAsync(PollyPipelines.Empty);

    [Benchmark]
    [BenchmarkCategory("no policy")]
    public Task<long[]> Empty_Weir() => ChainAsync(_empty);

    [Benchmark(Baseline = true)]
    [BenchmarkCategory("retries")]
    public Task<long[]> Retry_Polly() => PipelineAsync(_pollyRetry);

    [Benchmark]
    [BenchmarkCategory("retries")]
    public Task<long[]> Retry_Weir() => ChainAsync(_retry);

    [Benchmark(Baseline = true)]
    [BenchmarkCategory("circuit breaker")]
    public Task<long[]> CircuitBreaker_Polly() => PipelineAsync(_pollyBreaker);

    [Benchmark]
    [BenchmarkCategory("circuit breaker")]
    public Task<long[]> CircuitBreaker_Weir() => ChainAsync(_breaker);

    [Benchmark(Baseline = true)]
    [BenchmarkCategory("time limit")]
    public Task<long[]> Timeout_Polly() => PipelineAsync(_pollyTimeout);

    [Benchmark]
    [BenchmarkCategory("time limit")]
    public Task<long[]> Timeout_Weir() => ChainAsync(_timeout);

    [Benchmark(Baseline = true)]
    [BenchmarkCategory("rate limit")]
    public Task<long[]> RateLimit_Polly() => PipelineAsync(_pollyRate);

    [Benchmark]
    [BenchmarkCategory("rate limit")]
    public Task<long[]> RateLimit_Weir() => ChainAsync(_rate);

    [Benchmark(Baseline = true)]
    [BenchmarkCategory("all, with two time limits")]
    public Task<long[]> All_Polly() => PipelineAsync(_pollyAll);

    [Benchmark]
    [BenchmarkCategory("all, with two time limits")]
    public Task<long[]> All_Weir() => ChainAsync(_all);

    private protected override void Prepare(CallCounter? counter)
    {
        _call = CallCounter.Around(counter, ItemCalls.Light);
        _sum = new long[1];
    }

    private async Task<long[]> PipelineAsync(ResiliencePipeline pipeline)
    {
        ItemCall call = _call;
        long sum = 0;
        for (int i = 0; i < N; i++)
        {
            sum += await pipeline.ExecuteAsync(static (state, token) => state.call(state.i, token), (call, i), CancellationToken.None);
        }

        _sum[0] = sum;
        return _sum;
    }

    private async Task<long[]> ChainAsync(PolicyChain chain)
    {
        _sum[0] = await Chains.SumAsync(chain, _call, N);
        return _sum;
    }
}
