namespace Weir.Lab.Suites;

/// <summary>Blocks: posting.</summary>
[SuiteInfo(
    110,
    "Blocks: posting",
    "ActionBlock Post at least 5x faster than in-box with no byte a message; 2x with SingleProducerConstrained, 3x with two producers or two workers; "
        + "batches 4x.",
    Set = SuiteSet.Dataflow)]
public class DataflowPostBenchmarks : DataflowSuite
{
    private static readonly ExecutionDataflowBlockOptions Default = new();
    private static readonly ExecutionDataflowBlockOptions SingleProducer = new() { SingleProducerConstrained = true };
    private Action<int> _nothing = static _ => { };

    [Params(200_000, 6_000_000)]
    public override int N { get; set; }

    internal override IEnumerable<Goal> Goals =>
    [
        Goal.TimeRatio(nameof(Post_Weir), nameof(Post_InBox), 1 / 5.0),
        Goal.BytesPerItem(nameof(Post_Weir), 1),
        Goal.TimeRatio(nameof(Post_Weir), nameof(Post_Channel), 1.0),
        Goal.TimeRatio(nameof(PostSingle_Weir), nameof(PostSingle_InBox), 1 / 2.0),
        Goal.BytesPerItem(nameof(PostSingle_Weir), 1),
        Goal.TimeRatio(nameof(PostSingle_Weir), nameof(PostSingle_Channel), 1.0),
        Goal.TimeRatio(nameof(PostTwo_Weir), nameof(PostTwo_InBox), 1 / 3.0),
        Goal.TimeRatio(nameof(PostTwo_Weir), nameof(PostTwo_Channel), 1.0),
        Goal.TimeRatio(nameof(PostParallel_Weir), nameof(PostParallel_InBox), 1 / 3.0),
        Goal.TimeRatio(nameof(Batch_Weir), nameof(Batch_InBox), 1 / 4.0),
        .. Dense(nameof(Post_Weir), nameof(PostSingle_Weir), nameof(PostTwo_Weir), nameof(PostParallel_Weir), nameof(Batch_Weir)),
    ];

    [Benchmark(Baseline = true)]
    [BenchmarkCategory("Post")]
    public Task<long[]> Post_InBox() => InBoxBlocks.PostAsync(N, new Tally(), Default);

    [Benchmark]
    [BenchmarkCategory("Post")]
    public Task<long[]> Post_Weir() => WeirBlocks.PostAsync(N, new Tally(), Default);

    [Benchmark]
    [BenchmarkCategory("Post")]
    public Task<long[]> Post_Channel() => Channels.WriteAsync(N, new Tally());

    [Benchmark(Baseline = true)]
    [BenchmarkCategory("Post, single producer")]
    public Task<long[]> PostSingle_InBox() => InBoxBlocks.PostAsync(N, new Tally(), SingleProducer);

    [Benchmark]
    [BenchmarkCategory("Post, single producer")]
    public Task<long[]> PostSingle_Weir() => WeirBlocks.PostAsync(N, new Tally(), SingleProducer);

    [Benchmark]
    [BenchmarkCategory("Post, single producer")]
    public Task<long[]> PostSingle_Channel() => Channels.WriteAsync(N, new Tally());

    [Benchmark(Baseline = true)]
    [BenchmarkCategory("Post, two producers")]
    public Task<long[]> PostTwo_InBox() => InBoxBlocks.PostFromTwoAsync(N, new Tally());

    [Benchmark]
    [BenchmarkCategory("Post, two producers")]
    public Task<long[]> PostTwo_Weir() => WeirBlocks.PostFromTwoAsync(N, new Tally());

    [Benchmark]
    [BenchmarkCategory("Post, two producers")]
    public Task<long[]> PostTwo_Channel() => Channels.WriteFromTwoAsync(N, new Tally());

    [Benchmark(Baseline = true)]
    [BenchmarkCategory("Post, parallelism 2")]
    public Task<long[]> PostParallel_InBox() => InBoxBlocks.PostParallelAsync(N, _nothing);

    [Benchmark]
    [BenchmarkCategory("Post, parallelism 2")]
    public Task<long[]> PostParallel_Weir() => WeirBlocks.PostParallelAsync(N, _nothing);

    [Benchmark(Baseline = true)]
    [BenchmarkCategory("Batch of 100")]
    public Task<long[]> Batch_InBox() => InBoxBlocks.BatchAsync(N, new Tally());

    [Benchmark]
    [BenchmarkCategory("Batch of 100")]
    public Task<long[]> Batch_Weir() => WeirBlocks.BatchAsync(N, new Tally());

    private protected override long? ExpectedCalls(string category) => category == "Post, parallelism 2" ? N : null;

    private protected override void Prepare(CallCounter? counter)
    {
        _nothing = CallCounter.Around(counter, static (int _) => { });
    }
}
