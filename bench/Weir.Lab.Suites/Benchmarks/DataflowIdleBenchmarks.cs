namespace Weir.Lab.Suites;

/// <summary>Blocks: bytes of an idle block.</summary>
[SuiteInfo(
    150,
    "Blocks: bytes of an idle block",
    "At most 400 bytes for each block.",
    Set = SuiteSet.Dataflow)]
public class DataflowIdleBenchmarks : DataflowSuite
{
    private object[] _kept = [];

    public override int N { get; set; } = 5_000;

    internal override IEnumerable<Goal> Goals =>
    [
        Goal.BytesPerItem(nameof(Action_Weir), 400),
        Goal.BytesPerItem(nameof(Buffer_Weir), 400),
        Goal.BytesPerItem(nameof(Transform_Weir), 400),
    ];

    [Benchmark(Baseline = true)]
    [BenchmarkCategory("ActionBlock")]
    public long[] Action_InBox() => InBoxBlocks.Idle(N, _kept, 0);

    [Benchmark]
    [BenchmarkCategory("ActionBlock")]
    public long[] Action_Weir() => WeirBlocks.Idle(N, _kept, 0);

    [Benchmark(Baseline = true)]
    [BenchmarkCategory("BufferBlock")]
    public long[] Buffer_InBox() => InBoxBlocks.Idle(N, _kept, 1);

    [Benchmark]
    [BenchmarkCategory("BufferBlock")]
    public long[] Buffer_Weir() => WeirBlocks.Idle(N, _kept, 1);

    [Benchmark(Baseline = true)]
    [BenchmarkCategory("TransformBlock")]
    public long[] Transform_InBox() => InBoxBlocks.Idle(N, _kept, 2);

    [Benchmark]
    [BenchmarkCategory("TransformBlock")]
    public long[] Transform_Weir() => WeirBlocks.Idle(N, _kept, 2);

    private protected override void Prepare(CallCounter? counter)
    {
        _kept = new object[N];
    }
}
