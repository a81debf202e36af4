namespace Weir.Lab.Suites;

/// <summary>The cost of measuring each call, where it is visible: items that complete at once, or suspend once, under a limit that cannot change.</summary>
[SuiteInfo(
    310,
    "Adaptive concurrency, what it costs",
    "At most 25 ns and 16 bytes an item.",
    Set = SuiteSet.Resilience)]
public class AdaptiveConcurrencyCostBenchmarks : ItemSuite
{
    private static readonly ParallelRunOptions Adapting = new()
    {
        AdaptiveConcurrency = new AdaptiveConcurrencyOptions { MinConcurrency = 8, MaxConcurrency = 8 },
    };

    /// <summary>How many items an arm works on.</summary>
    public override int N { get; set; } = 10_000;

    /// <summary>Whether an item suspends.</summary>
    [Params(false, true)]
    public bool Suspends { get; set; }

    internal override IEnumerable<Goal> Goals => 
    [
        Goal.AddedTimePerItem(nameof(SelectParallel_Adaptive), nameof(SelectParallel_Fixed), 25),
        Goal.BytesRatio(nameof(SelectParallel_Adaptive), nameof(SelectParallel_Fixed), 1.0, extraBytesPerItem: 16),
    ];

    private protected override int Limit => 8;

    /// <summary>A fixed limit.</summary>
    [Benchmark(Baseline = true)]
    public Task<List<int>> SelectParallel_Fixed() => Items.SelectParallelAsync(Call, Options);

    /// <summary>A limit that would adapt.</summary>
    [Benchmark]
    public Task<List<int>> SelectParallel_Adaptive() => Items.SelectParallelAsync(Call, Adapting);

    private protected override ItemCall MakeCall() => Suspends ? ItemCalls.Yielding : ItemCalls.Light;
}
