namespace Weir.Lab.Suites;

/// <summary>500 items that wait on a timer, whose waits are some ticks of it and end together: no queue, however much they differ.</summary>
[Iterations(most: 8, mostWarmUps: 2)]
[SuiteInfo(
    305,
    "Adaptive concurrency, short waits",
    "At most a tenth longer than with the highest limit as a fixed one, because nothing queues.",
    Set = SuiteSet.Resilience,
    OnlyByName = true)]
public class AdaptiveShortWaitsBenchmarks : ItemSuite
{
    private ParallelRunOptions _adapting = null!;

    /// <summary>How many items an arm works on.</summary>
    public override int N { get; set; } = 500;

    /// <summary>The highest limit.</summary>
    [Params(16, 32)]
    public int MaxConcurrency { get; set; }

    /// <summary>How long a call waits, in milliseconds.</summary>
    [Params(1, 2, 5, 15)]
    public int Delay { get; set; }

    internal override IEnumerable<Goal> Goals => [Goal.TimeRatio(nameof(SelectParallel_Adaptive), nameof(SelectParallel_Fixed), 1.10)];

    private protected override int Limit => MaxConcurrency;

    /// <summary>The highest limit as a fixed one.</summary>
    [Benchmark(Baseline = true)]
    public Task<List<int>> SelectParallel_Fixed() => Items.SelectParallelAsync(Call, Options);

    /// <summary>A limit that adapts.</summary>
    [Benchmark]
    public Task<List<int>> SelectParallel_Adaptive() => Items.SelectParallelAsync(Call, _adapting);

    private protected override ItemCall MakeCall() => ItemCalls.Delaying(Delay);

    private protected override void Prepare(CallCounter? counter)
    {
        base.Prepare(counter);
        _adapting = new ParallelRunOptions { AdaptiveConcurrency = new AdaptiveConcurrencyOptions { MaxConcurrency = MaxConcurrency } };
    }
}
