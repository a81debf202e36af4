namespace Weir.Lab.Suites;

/// <summary>Blocks: small programs as users write them, whose delegates do something.</summary>
[SuiteInfo(
    147,
    "Blocks: whole programs",
    "Never more processor time than in-box.",
    Set = SuiteSet.Dataflow)]
public class DataflowProgramsBenchmarks : DataflowSuite
{
    private OrderLines _orders = null!;

    public override int N { get; set; } = 50_000;

    internal override IEnumerable<Goal> Goals =>
    [
        Goal.ProcessorRatio(nameof(Transform_Weir), nameof(Transform_InBox), 1),
        Goal.ProcessorRatio(nameof(Slow_Weir), nameof(Slow_InBox), 1),
        Goal.ProcessorRatio(nameof(Parallel_Weir), nameof(Parallel_InBox), 1),
        Goal.ProcessorRatio(nameof(Many_Weir), nameof(Many_InBox), 1),
        Goal.ProcessorRatio(nameof(Batch_Weir), nameof(Batch_InBox), 1),
        Goal.ProcessorRatio(nameof(Await_Weir), nameof(Await_InBox), 1),
        Goal.ProcessorRatio(nameof(Bounded_Weir), nameof(Bounded_InBox), 1),
    ];

    [Benchmark(Baseline = true)]
    [BenchmarkCategory("Transform, action")]
    public Task<long[]> Transform_InBox() => InBoxPrograms.TransformAsync(_orders, OrderLines.Read, 1);

    [Benchmark]
    [BenchmarkCategory("Transform, action")]
    public Task<long[]> Transform_Weir() => WeirPrograms.TransformAsync(_orders, OrderLines.Read, 1);

    [Benchmark(Baseline = true)]
    [BenchmarkCategory("Transform that computes, action")]
    public Task<long[]> Slow_InBox() => InBoxPrograms.TransformAsync(_orders, OrderLines.ReadAndCheck, 1);

    [Benchmark]
    [BenchmarkCategory("Transform that computes, action")]
    public Task<long[]> Slow_Weir() => WeirPrograms.TransformAsync(_orders, OrderLines.ReadAndCheck, 1);

    [Benchmark(Baseline = true)]
    [BenchmarkCategory("Transform that computes in order, parallelism 2, action")]
    public Task<long[]> Parallel_InBox() => InBoxPrograms.TransformAsync(_orders, OrderLines.ReadAndCheck, 2);

    [Benchmark]
    [BenchmarkCategory("Transform that computes in order, parallelism 2, action")]
    public Task<long[]> Parallel_Weir() => WeirPrograms.TransformAsync(_orders, OrderLines.ReadAndCheck, 2);

    [Benchmark(Baseline = true)]
    [BenchmarkCategory("TransformMany, action")]
    public Task<long[]> Many_InBox() => InBoxPrograms.ManyAsync(_orders);

    [Benchmark]
    [BenchmarkCategory("TransformMany, action")]
    public Task<long[]> Many_Weir() => WeirPrograms.ManyAsync(_orders);

    [Benchmark(Baseline = true)]
    [BenchmarkCategory("Transform, batches of 100, action")]
    public Task<long[]> Batch_InBox() => InBoxPrograms.BatchAsync(_orders);

    [Benchmark]
    [BenchmarkCategory("Transform, batches of 100, action")]
    public Task<long[]> Batch_Weir() => WeirPrograms.BatchAsync(_orders);

    [Benchmark(Baseline = true)]
    [BenchmarkCategory("Transform, asynchronous action")]
    public Task<long[]> Await_InBox() => InBoxPrograms.AwaitAsync(_orders);

    [Benchmark]
    [BenchmarkCategory("Transform, asynchronous action")]
    public Task<long[]> Await_Weir() => WeirPrograms.AwaitAsync(_orders);

    [Benchmark(Baseline = true)]
    [BenchmarkCategory("Transform, action, bound 100")]
    public Task<long[]> Bounded_InBox() => InBoxPrograms.BoundedAsync(_orders, 100);

    [Benchmark]
    [BenchmarkCategory("Transform, action, bound 100")]
    public Task<long[]> Bounded_Weir() => WeirPrograms.BoundedAsync(_orders, 100);

    private protected override void Prepare(CallCounter? counter) => _orders = new OrderLines(N);
}
