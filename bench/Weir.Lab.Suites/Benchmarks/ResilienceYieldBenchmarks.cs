namespace Weir.Lab.Suites;

/// <summary>What each policy costs an item that suspends once.</summary>
[SuiteInfo(
    20,
    "Each policy on, not acting: one yield an item",
    "At most 16 bytes an item for each policy, also when the call suspends.",
    Set = SuiteSet.Resilience)]
public class ResilienceYieldBenchmarks : FeatureSuite
{
    internal override IEnumerable<Goal> Goals =>
        Features.Select(static feature => Goal.BytesRatio(feature, nameof(SelectParallel), 1.0, extraBytesPerItem: 16));

    private protected override int Limit => 8;

    private protected override ItemCall MakeCall() => ItemCalls.Yielding;
}
