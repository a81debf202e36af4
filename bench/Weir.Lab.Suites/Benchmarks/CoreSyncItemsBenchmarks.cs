namespace Weir.Lab.Suites;

/// <summary>Items that complete at once: nothing but the overhead per item and per run.</summary>
[SuiteInfo(
    10,
    "Sync items, limit 8",
    "1,000 items at the pace of the plain loop with the result list + 1 KB; 100,000 items in 0.6 of its time on two cores, at least 30x faster than "
        + "Parallel.ForEachAsync, with the result list + 2 KB.")]
public class CoreSyncItemsBenchmarks : ListSuite
{
    [Params(1_000, 100_000)]
    public override int N { get; set; } = 1_000;

    /// <summary>What the items come from.</summary>
    [Params(SourceKind.Array, SourceKind.List, SourceKind.Range, SourceKind.Lazy)]
    public SourceKind Source { get; set; }

    internal override IEnumerable<Goal> Goals
    {
        get
        {
            bool isLarge = N >= 100_000;
            yield return Goal.TimeRatio(nameof(SelectParallel), nameof(AwaitLoop), isLarge ? 0.6 : 1.0);
            if (isLarge)
            {
                yield return Goal.TimeRatio(nameof(SelectParallel), nameof(ParallelForEachAsync), 1 / 30.0);
            }

            if (Source != SourceKind.Lazy)
            {
                // A list of N numbers: the object, the array's header and the numbers. A lazy source does not say its count, so its list has to grow.
                yield return Goal.BytesPerRun(nameof(SelectParallel), 32 + 24 + (sizeof(int) * N) + (isLarge ? 2048 : 1024));
            }
        }
    }

    private protected override int Limit => 8;

    private protected override SourceKind ItemsKind => Source;

    private protected override ItemCall MakeCall() => ItemCalls.Light;
}
