namespace Weir.Lab.Suites;

/// <summary>A suite that compares a run without policies with the same run and each policy switched on, none of which acts.</summary>
public abstract class FeatureSuite : ItemSuite
{
    private protected static readonly string[] Features =
    [
        nameof(SelectParallel_Retries), nameof(SelectParallel_CircuitBreaker), nameof(SelectParallel_RateLimit), nameof(SelectParallel_AttemptTimeout),
        nameof(SelectParallel_ItemTimeout), nameof(SelectParallel_Fallback), nameof(SelectParallel_Adaptive), nameof(SelectParallel_Hooks),
        nameof(SelectParallel_PartitionBy),
        nameof(SelectParallel_Progress), nameof(SelectParallel_Metrics),
    ];

    private ParallelRunOptions _retries = null!;
    private ParallelRunOptions _breaker = null!;
    private ParallelRunOptions _rate = null!;
    private ParallelRunOptions _attempt = null!;
    private ParallelRunOptions _item = null!;
    private ParallelRunOptions _fallback = null!;
    private ParallelRunOptions _adaptive = null!;
    private ParallelRunOptions _hooks = null!;
    private ParallelRunOptions _progress = null!;
    private ParallelRunOptions _metrics = null!;
    private ParallelRunOptions _all = null!;

    /// <summary>No policy.</summary>
    [Benchmark(Baseline = true)]
    public Task<List<int>> SelectParallel() => Items.SelectParallelAsync(Call, Options);

    /// <summary>Three retries.</summary>
    [Benchmark]
    public Task<List<int>> SelectParallel_Retries() => Items.SelectParallelAsync(Call, _retries);

    /// <summary>A circuit breaker.</summary>
    [Benchmark]
    public Task<List<int>> SelectParallel_CircuitBreaker() => Items.SelectParallelAsync(Call, _breaker);

    /// <summary>A rate that is not reached.</summary>
    [Benchmark]
    public Task<List<int>> SelectParallel_RateLimit() => Items.SelectParallelAsync(Call, _rate);

    /// <summary>A time limit for an attempt.</summary>
    [Benchmark]
    public Task<List<int>> SelectParallel_AttemptTimeout() => Items.SelectParallelAsync(Call, _attempt);

    /// <summary>A time limit for an item.</summary>
    [Benchmark]
    public Task<List<int>> SelectParallel_ItemTimeout() => Items.SelectParallelAsync(Call, _item);

    /// <summary>A fallback.</summary>
    [Benchmark]
    public Task<List<int>> SelectParallel_Fallback() => Items.SelectParallelAsync(Call, _fallback);

    /// <summary>An adaptive limit that cannot move.</summary>
    [Benchmark]
    public Task<List<int>> SelectParallel_Adaptive() => Items.SelectParallelAsync(Call, _adaptive);

    /// <summary>Start, completion and error hooks that do nothing.</summary>
    [Benchmark]
    public Task<List<int>> SelectParallel_Hooks() => Items.SelectParallelAsync(Call, _hooks);

    /// <summary>A key of its own for each item.</summary>
    [Benchmark]
    public Task<List<int>> SelectParallel_PartitionBy() => Items.PartitionBy(static item => item).SelectParallelAsync(Call, Options);

    /// <summary>A progress report every 100 ms, and the final one.</summary>
    [Benchmark]
    public Task<List<int>> SelectParallel_Progress() => Items.SelectParallelAsync(Call, _progress);

    /// <summary>A metrics sample every 100 ms, and the final one.</summary>
    [Benchmark]
    public Task<List<int>> SelectParallel_Metrics() => Items.SelectParallelAsync(Call, _metrics);

    /// <summary>Fallback, both time limits, retries, breaker, rate limit, progress and metrics together.</summary>
    [Benchmark]
    public Task<List<int>> SelectParallel_All() => Items.SelectParallelAsync(Call, _all);

    private protected override void Prepare(CallCounter? counter)
    {
        base.Prepare(counter);
        _retries = Workloads.Features.Retries(Options);
        _breaker = Workloads.Features.CircuitBreaker(Options);
        _rate = Workloads.Features.RateLimit(Options);
        _attempt = Workloads.Features.AttemptTimeout(Options);
        _item = Workloads.Features.PerItemTimeout(Options);
        _fallback = Workloads.Features.Fallback(Options);
        _adaptive = Workloads.Features.Adaptive(Options);
        _hooks = Workloads.Features.Hooks(Options);
        _progress = Workloads.Features.Progress(Options);
        _metrics = Workloads.Features.Metrics(Options);
        _all = Workloads.Features.All(Options);
    }
}
