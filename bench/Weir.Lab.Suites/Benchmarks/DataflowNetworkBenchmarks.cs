namespace Weir.Lab.Suites;

/// <summary>Blocks: networks.</summary>
[SuiteInfo(
    140,
    "Blocks: networks",
    "At least 4x faster than in-box; an ordered transform on two workers 5x, a join 3x.",
    Set = SuiteSet.Dataflow)]
public class DataflowNetworkBenchmarks : DataflowSuite
{
    [Params(200_000, 6_000_000)]
    public override int N { get; set; }

    internal override IEnumerable<Goal> Goals =>
    [
        Goal.TimeRatio(nameof(Transform_Weir), nameof(Transform_InBox), 1 / 4.0),
        Goal.TimeRatio(nameof(Transform4_Weir), nameof(Transform4_InBox), 1 / 4.0),
        Goal.TimeRatio(nameof(Ordered_Weir), nameof(Ordered_InBox), 1 / 5.0),
        Goal.TimeRatio(nameof(Broadcast_Weir), nameof(Broadcast_InBox), 1 / 4.0),
        Goal.TimeRatio(nameof(Join_Weir), nameof(Join_InBox), 1 / 3.0),
        .. Dense(nameof(Transform_Weir), nameof(Transform4_Weir), nameof(Ordered_Weir), nameof(Broadcast_Weir), nameof(Join_Weir)),
    ];

    [Benchmark(Baseline = true)]
    [BenchmarkCategory("Transform, action")]
    public Task<long[]> Transform_InBox() => InBoxBlocks.TransformAsync(N, new Tally(), 1, 1);

    [Benchmark]
    [BenchmarkCategory("Transform, action")]
    public Task<long[]> Transform_Weir() => WeirBlocks.TransformAsync(N, new Tally(), 1, 1);

    [Benchmark(Baseline = true)]
    [BenchmarkCategory("Four transforms, action")]
    public Task<long[]> Transform4_InBox() => InBoxBlocks.TransformAsync(N, new Tally(), 4, 1);

    [Benchmark]
    [BenchmarkCategory("Four transforms, action")]
    public Task<long[]> Transform4_Weir() => WeirBlocks.TransformAsync(N, new Tally(), 4, 1);

    [Benchmark(Baseline = true)]
    [BenchmarkCategory("Transform in order, parallelism 2, action")]
    public Task<long[]> Ordered_InBox() => InBoxBlocks.TransformAsync(N, new Tally(), 1, 2);

    [Benchmark]
    [BenchmarkCategory("Transform in order, parallelism 2, action")]
    public Task<long[]> Ordered_Weir() => WeirBlocks.TransformAsync(N, new Tally(), 1, 2);

    [Benchmark(Baseline = true)]
    [BenchmarkCategory("Broadcast, two actions")]
    public Task<long[]> Broadcast_InBox() => InBoxBlocks.BroadcastAsync(N, new Tally(), new Tally());

    [Benchmark]
    [BenchmarkCategory("Broadcast, two actions")]
    public Task<long[]> Broadcast_Weir() => WeirBlocks.BroadcastAsync(N, new Tally(), new Tally());

    [Benchmark(Baseline = true)]
    [BenchmarkCategory("Join of two, action")]
    public Task<long[]> Join_InBox() => InBoxBlocks.JoinAsync(N, new Tally());

    [Benchmark]
    [BenchmarkCategory("Join of two, action")]
    public Task<long[]> Join_Weir() => WeirBlocks.JoinAsync(N, new Tally());

    private protected override void Prepare(CallCounter? counter)
    {
        // Nothing depends on the parameters.
    }
}
