namespace Weir.Lab.Suites;

/// <summary>Items that wait 1 ms: the time is the timer's, so the memory is what is compared.</summary>
[Iterations(most: 8, mostWarmUps: 2)]
[SuiteInfo(
    40,
    "1 ms delays, limit 32",
    "In time, the timer's own floor (one tick for every 32 items). In memory, no more than the plain loop plus what a delay needs to be cancellable.")]
public class CoreDelayBenchmarks : ListSuite
{
    internal override IEnumerable<Goal> Goals =>
    [
        // The plain loop takes one tick an item, so it shows the tick; 3 % for what is not waiting.
        Goal.TimeRatio(nameof(SelectParallel), nameof(AwaitLoop), 1.03 * ((N + Limit - 1) / Limit) / N),

        // The plain loop has no token to cancel its delays by. The rest is what a run costs, 32 suspended workers included.
        Goal.BytesRatio(nameof(SelectParallel), nameof(AwaitLoop), 1.0, extraBytesPerItem: 24 + 8),
    ];

    private protected override int Limit => 32;

    private protected override ItemCall MakeCall() => ItemCalls.Delaying(1);
}
