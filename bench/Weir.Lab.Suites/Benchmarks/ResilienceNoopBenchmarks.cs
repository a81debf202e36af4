namespace Weir.Lab.Suites;

/// <summary>What each policy costs an item where it cannot hide behind a delay: items that complete at once.</summary>
[SuiteInfo(
    10,
    "Each policy on, not acting: synchronous no-op",
    "At most 25 ns and 16 bytes an item for each policy. One worker shows the cost itself; eight share it between the cores, and contend.",
    Set = SuiteSet.Resilience)]
public class ResilienceNoopBenchmarks : FeatureSuite
{
    /// <summary>How many items an arm works on.</summary>
    public override int N { get; set; } = 10_000;

    /// <summary>How many items may be in flight.</summary>
    [Params(1, 8)]
    public int MaxDegreeOfParallelism { get; set; } = 1;

    internal override IEnumerable<Goal> Goals => Features.SelectMany(static feature => new[]
    {
        Goal.AddedTimePerItem(feature, nameof(SelectParallel), 25),
        Goal.BytesRatio(feature, nameof(SelectParallel), 1.0, extraBytesPerItem: 16),
    });

    private protected override int Limit => MaxDegreeOfParallelism;

    private protected override ItemCall MakeCall() => ItemCalls.Light;
}
