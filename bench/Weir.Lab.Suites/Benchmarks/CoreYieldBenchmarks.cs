namespace Weir.Lab.Suites;

/// <summary>Items that suspend once each: what a suspension costs.</summary>
[SuiteInfo(
    30,
    "One yield per item, limit 8",
    "At most 0.55 of the time of Parallel.ForEachAsync, and no bytes an item beyond those of the call's own state machine, which the plain loop shows.")]
public class CoreYieldBenchmarks : ListSuite
{
    internal override IEnumerable<Goal> Goals =>
    [
        Goal.TimeRatio(nameof(SelectParallel), nameof(ParallelForEachAsync), 0.55),

        // What a run costs, eight suspended workers included, is spread over the items: 4 bytes for each of 1,000.
        Goal.BytesRatio(nameof(SelectParallel), nameof(AwaitLoop), 1.0, extraBytesPerItem: 4),
    ];

    private protected override int Limit => 8;

    private protected override ItemCall MakeCall() => ItemCalls.Yielding;
}
