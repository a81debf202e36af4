using Weir.Lab.Suites.Lasting;

namespace Weir.Lab.Suites;

/// <summary>Blocks: most calls are short, some last.</summary>
[SuiteInfo(
    145,
    "Blocks: calls of which some last",
    "Never slower than in-box, whatever the share, length and kind of the calls that last; as many of them at once as there are workers.",
    Set = SuiteSet.Dataflow)]
public class DataflowLastingBenchmarks : DataflowSuite
{
    private const int Share = 300;
    private const int Workers = 16;
    private static readonly WaitThread Waits = new(TimeSpan.FromMilliseconds(1));
    private LastingCalls _calls = null!;

    public override int N { get; set; } = Share * Workers * 4;

    internal override IEnumerable<Goal> Goals => [Goal.TimeRatio(nameof(Wait_Weir), nameof(Wait_InBox), 1)];

    [Benchmark(Baseline = true)]
    [BenchmarkCategory("Action, one call in 300 awaits 1 ms, parallelism 16")]
    public Task<long[]> Wait_InBox() => InBoxBlocks.LastingAsync(_calls, BlockKind.Action, Workers);

    [Benchmark]
    [BenchmarkCategory("Action, one call in 300 awaits 1 ms, parallelism 16")]
    public Task<long[]> Wait_Weir() => WeirBlocks.LastingAsync(_calls, BlockKind.Action, Workers);

    internal override async Task<string> AppendixAsync()
    {
        using LastingGrid grid = new();
        return await grid.MeasureAsync();
    }

    private protected override void Prepare(CallCounter? counter)
    {
        bool[] lasts = new bool[N];
        for (int i = Share / 2; i < N; i += Share)
        {
            lasts[i] = true;
        }

        _calls = new LastingCalls(CallKind.Await, lasts, new CalibratedSpin(0), Waits);
    }
}
