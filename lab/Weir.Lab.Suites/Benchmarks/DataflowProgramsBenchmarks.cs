using Weir.Lab.Suites.Peers.Dataflow;

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

    /// <inheritdoc/>
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

    /// <summary>A transform and an action: in box.</summary>
    /// <returns>What was counted.</returns>
    [Benchmark(Baseline = true)]
    [BenchmarkCategory("Transform, action")]
    public Task<long[]> Transform_InBox() => InBoxPrograms.TransformAsync(_orders, OrderLines.Read, 1);

    /// <summary>A transform and an action: Weir.</summary>
    /// <returns>What was counted.</returns>
    [Benchmark]
    [BenchmarkCategory("Transform, action")]
    public Task<long[]> Transform_Weir() => WeirPrograms.TransformAsync(_orders, OrderLines.Read, 1);

    /// <summary>A transform of some microseconds and an action: in box.</summary>
    /// <returns>What was counted.</returns>
    [Benchmark(Baseline = true)]
    [BenchmarkCategory("Transform that computes, action")]
    public Task<long[]> Slow_InBox() => InBoxPrograms.TransformAsync(_orders, OrderLines.ReadAndCheck, 1);

    /// <summary>A transform of some microseconds and an action: Weir.</summary>
    /// <returns>What was counted.</returns>
    [Benchmark]
    [BenchmarkCategory("Transform that computes, action")]
    public Task<long[]> Slow_Weir() => WeirPrograms.TransformAsync(_orders, OrderLines.ReadAndCheck, 1);

    /// <summary>Such a transform on two workers: in box.</summary>
    /// <returns>What was counted.</returns>
    [Benchmark(Baseline = true)]
    [BenchmarkCategory("Transform that computes in order, parallelism 2, action")]
    public Task<long[]> Parallel_InBox() => InBoxPrograms.TransformAsync(_orders, OrderLines.ReadAndCheck, 2);

    /// <summary>Such a transform on two workers: Weir.</summary>
    /// <returns>What was counted.</returns>
    [Benchmark]
    [BenchmarkCategory("Transform that computes in order, parallelism 2, action")]
    public Task<long[]> Parallel_Weir() => WeirPrograms.TransformAsync(_orders, OrderLines.ReadAndCheck, 2);

    /// <summary>A transform to four fields each, and an action: in box.</summary>
    /// <returns>What was counted.</returns>
    [Benchmark(Baseline = true)]
    [BenchmarkCategory("TransformMany, action")]
    public Task<long[]> Many_InBox() => InBoxPrograms.ManyAsync(_orders);

    /// <summary>A transform to four fields each, and an action: Weir.</summary>
    /// <returns>What was counted.</returns>
    [Benchmark]
    [BenchmarkCategory("TransformMany, action")]
    public Task<long[]> Many_Weir() => WeirPrograms.ManyAsync(_orders);

    /// <summary>A transform, batches, and an action: in box.</summary>
    /// <returns>What was counted.</returns>
    [Benchmark(Baseline = true)]
    [BenchmarkCategory("Transform, batches of 100, action")]
    public Task<long[]> Batch_InBox() => InBoxPrograms.BatchAsync(_orders);

    /// <summary>A transform, batches, and an action: Weir.</summary>
    /// <returns>What was counted.</returns>
    [Benchmark]
    [BenchmarkCategory("Transform, batches of 100, action")]
    public Task<long[]> Batch_Weir() => WeirPrograms.BatchAsync(_orders);

    /// <summary>A transform, and an action that awaits: in box.</summary>
    /// <returns>What was counted.</returns>
    [Benchmark(Baseline = true)]
    [BenchmarkCategory("Transform, asynchronous action")]
    public Task<long[]> Await_InBox() => InBoxPrograms.AwaitAsync(_orders);

    /// <summary>A transform, and an action that awaits: Weir.</summary>
    /// <returns>What was counted.</returns>
    [Benchmark]
    [BenchmarkCategory("Transform, asynchronous action")]
    public Task<long[]> Await_Weir() => WeirPrograms.AwaitAsync(_orders);

    /// <summary>A transform and an action of 100 messages each: in box.</summary>
    /// <returns>What was counted.</returns>
    [Benchmark(Baseline = true)]
    [BenchmarkCategory("Transform, action, bound 100")]
    public Task<long[]> Bounded_InBox() => InBoxPrograms.BoundedAsync(_orders, 100);

    /// <summary>A transform and an action of 100 messages each: Weir.</summary>
    /// <returns>What was counted.</returns>
    [Benchmark]
    [BenchmarkCategory("Transform, action, bound 100")]
    public Task<long[]> Bounded_Weir() => WeirPrograms.BoundedAsync(_orders, 100);

    private protected override long? ExpectedCalls(string category) => null;

    private protected override void Prepare(CallCounter? counter) => _orders = new OrderLines(N);
}
