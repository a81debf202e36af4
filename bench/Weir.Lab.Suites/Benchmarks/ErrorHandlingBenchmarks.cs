namespace Weir.Lab.Suites;

/// <summary>
/// The published suite ErrorHandling: 500 synchronous items, limit 8; no failures, one in ten that fails once, one in twenty that fails twice.
/// </summary>
[CategoriesColumn]
[Iterations(most: 15, mostWarmUps: 5)]
[SuiteInfo(
    40,
    "Published suite: ErrorHandling",
    "Retries in a third of 27.6 ms (31.4 ms for two in a row), about as many ticks of a 4 ms timer as there are delays in a row: an item that waits holds no "
        + "worker. The peer retries inside the loop, so its workers wait.",
    Set = SuiteSet.Resilience)]
public class ErrorHandlingBenchmarks : Suite
{
    private const string Success = "SuccessPath";
    private const string Transient = "TransientFailures";
    private const string Exponential = "Exponential";
    private const string Jitter = "ExponentialJitter";

    private readonly ParallelRunOptions _plain = new() { MaxDegreeOfParallelism = 8 };
    private readonly ParallelRunOptions _failFast = new() { MaxDegreeOfParallelism = 8, ErrorMode = ErrorMode.FailFast };
    private readonly ParallelRunOptions _bestEffort = new() { MaxDegreeOfParallelism = 8, ErrorMode = ErrorMode.BestEffort };
    private readonly ParallelRunOptions _exponential = Retrying(Resilience.BackoffStrategy.Exponential);
    private readonly ParallelRunOptions _jitter = Retrying(Resilience.BackoffStrategy.ExponentialJitter);

    private IEnumerable<int> _source = [];
    private CallCounter? _counter;
    private ItemCall _light = null!;

    /// <summary>How many items an arm works on.</summary>
    public override int N { get; set; } = 500;

    internal override IEnumerable<Goal> Goals =>
    [
        Goal.TimePerRun(nameof(SelectParallel_WithRetries), TimeSpan.FromMilliseconds(27.6) / 3),
        Goal.TimePerRun(nameof(SelectParallel_Exponential), TimeSpan.FromMilliseconds(31.4) / 3),
        Goal.TimeRatio(nameof(SelectParallel_WithRetries), nameof(ParallelForEachAsync_WithRetries), 1.0 / 3),
    ];

    /// <summary>No retries, no failures.</summary>
    [Benchmark(Baseline = true)]
    [BenchmarkCategory(Success)]
    public Task<List<int>> SelectParallel_NoRetries() => _source.SelectParallelAsync(_light, _plain);

    /// <summary>The first failure would end the run.</summary>
    [Benchmark]
    [BenchmarkCategory(Success)]
    public Task<List<int>> SelectParallel_FailFast() => _source.SelectParallelAsync(_light, _failFast);

    /// <summary>Failures would be left out.</summary>
    [Benchmark]
    [BenchmarkCategory(Success)]
    public Task<List<int>> SelectParallel_BestEffort() => _source.SelectParallelAsync(_light, _bestEffort);

    /// <summary>Retries that are not needed.</summary>
    [Benchmark]
    [BenchmarkCategory(Success)]
    public Task<List<int>> SelectParallel_RetriesNotNeeded() => _source.SelectParallelAsync(_light, _exponential);

    /// <summary>The platform's parallel loop.</summary>
    [Benchmark]
    [BenchmarkCategory(Success)]
    public Task<int[]> ParallelForEachAsync_NoRetries() => ForEachAsync.RunAsync(_source, N, 8, _light);

    /// <summary>One item in ten fails once.</summary>
    [Benchmark]
    [BenchmarkCategory(Transient)]
    public Task<List<int>> SelectParallel_WithRetries() => _source.SelectParallelAsync(Failing(10, 1), _exponential);

    /// <summary>A retry loop inside the platform's parallel loop, of whose items one in ten fails once.</summary>
    [Benchmark(Baseline = true)]
    [BenchmarkCategory(Transient)]
    public Task<int[]> ParallelForEachAsync_WithRetries() => ForEachAsync.RunAsync(_source, N, 8, RetryLoop.Around(Failing(10, 1), 3));

    /// <summary>One item in twenty fails twice.</summary>
    [Benchmark]
    [BenchmarkCategory(Exponential)]
    public Task<List<int>> SelectParallel_Exponential() => _source.SelectParallelAsync(Failing(20, 2), _exponential);

    /// <summary>A retry loop inside the platform's parallel loop, of whose items one in twenty fails twice.</summary>
    [Benchmark(Baseline = true)]
    [BenchmarkCategory(Exponential)]
    public Task<int[]> ParallelForEachAsync_Exponential() => ForEachAsync.RunAsync(_source, N, 8, RetryLoop.Around(Failing(20, 2), 3));

    /// <summary>One item in twenty fails twice; delays by chance.</summary>
    [Benchmark]
    [BenchmarkCategory(Jitter)]
    public Task<List<int>> SelectParallel_ExponentialJitter() => _source.SelectParallelAsync(Failing(20, 2), _jitter);

    /// <summary>A retry loop inside the platform's parallel loop, of whose items one in twenty fails twice; delays without chance.</summary>
    [Benchmark(Baseline = true)]
    [BenchmarkCategory(Jitter)]
    public Task<int[]> ParallelForEachAsync_NoJitter() => ForEachAsync.RunAsync(_source, N, 8, RetryLoop.Around(Failing(20, 2), 3));

    private protected override void Prepare(CallCounter? counter)
    {
        _counter = counter;
        _source = Sources.Of(SourceKind.Range, N);
        _light = CallCounter.Around(counter, ItemCalls.Light);
    }

    private protected override long? ExpectedCalls(string category) => category switch
    {
        Success => N,
        Transient => N + (N / 10),
        _ => N + (N / 20 * 2),
    };

    // Made anew for each run, because it counts the attempts.
    private ItemCall Failing(int oneIn, int times) => CallCounter.Around(_counter, ItemCalls.FailingFirst(oneIn, times, N));

    private static ParallelRunOptions Retrying(Resilience.BackoffStrategy strategy) => new()
    {
        MaxDegreeOfParallelism = 8,
        MaxRetries = 3,
        BaseDelay = TimeSpan.FromMilliseconds(1),
        BackoffStrategy = strategy,
        IsTransient = static e => e is InvalidOperationException,
    };
}
