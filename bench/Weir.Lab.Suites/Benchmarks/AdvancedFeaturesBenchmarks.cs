namespace Weir.Lab.Suites;

/// <summary>The published suite AdvancedFeatures: 500 items with a delay of 2 ms each, limit 16, each policy on and not acting.</summary>
[Iterations(most: 8, mostWarmUps: 2)]
[SuiteInfo(
    30,
    "Published suite: AdvancedFeatures",
    "At most 3 % of time and 16 bytes an item for each policy. The published rate limit, which does act on a timer this fine, is a suite of its own below.",
    Set = SuiteSet.Resilience)]
public class AdvancedFeaturesBenchmarks : FeatureSuite
{
    /// <summary>How many items an arm works on.</summary>
    public override int N { get; set; } = 500;

    internal override IEnumerable<Goal> Goals => Features.SelectMany(static feature => new[]
    {
        Goal.TimeRatio(feature, nameof(SelectParallel), 1.03),
        Goal.BytesRatio(feature, nameof(SelectParallel), 1.0, extraBytesPerItem: 16),
    });

    private protected override int Limit => 16;

    private protected override ItemCall MakeCall() => ItemCalls.Delaying(2);
}
