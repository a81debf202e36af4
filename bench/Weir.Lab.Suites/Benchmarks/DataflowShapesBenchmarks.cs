namespace Weir.Lab.Suites;

/// <summary>Blocks: shapes of networks, beside channels that are linked by hand.</summary>
[SuiteInfo(
    142,
    "Blocks: routing, broadcasts and joins, beside channels by hand",
    "Never slower than in-box, nor than tasks that read and write channels.",
    Set = SuiteSet.Dataflow)]
public class DataflowShapesBenchmarks : DataflowSuite
{
    private const string Routing = "Transform, two actions by a predicate";
    private const string Broadcast = "Broadcast, two actions";
    private const string Join = "Join of two, action";
    private const string JoinNotGreedy = "Join of two buffers, not greedy, action";
    private const string BatchNotGreedy = "Batch of two from two buffers, not greedy, action";

    // A block that is not greedy takes its messages from their sources one by one.
    private const int Fewer = 100;

    [Params(200_000)]
    public override int N { get; set; }

    internal override IEnumerable<Goal> Goals =>
    [
        .. Beside(nameof(Routing_Weir), nameof(Routing_InBox), nameof(Routing_Channel)),
        .. Beside(nameof(Broadcast_Weir), nameof(Broadcast_InBox), nameof(Broadcast_Channel)),
        .. Beside(nameof(Join_Weir), nameof(Join_InBox), nameof(Join_Channel)),
        .. Beside(nameof(JoinNotGreedy_Weir), nameof(JoinNotGreedy_InBox)),
        .. Beside(nameof(BatchNotGreedy_Weir), nameof(BatchNotGreedy_InBox)),
        .. Dense(nameof(Routing_Weir), nameof(Broadcast_Weir), nameof(Join_Weir), nameof(JoinNotGreedy_Weir), nameof(BatchNotGreedy_Weir)),
    ];

    [Benchmark(Baseline = true)]
    [BenchmarkCategory(Routing)]
    public Task<long[]> Routing_InBox() => InBoxBlocks.RouteAsync(N, new Tally(), new Tally());

    [Benchmark]
    [BenchmarkCategory(Routing)]
    public Task<long[]> Routing_Weir() => WeirBlocks.RouteAsync(N, new Tally(), new Tally());

    [Benchmark]
    [BenchmarkCategory(Routing)]
    public Task<long[]> Routing_Channel() => Channels.RouteAsync(N, new Tally(), new Tally());

    [Benchmark(Baseline = true)]
    [BenchmarkCategory(Broadcast)]
    public Task<long[]> Broadcast_InBox() => InBoxBlocks.BroadcastAsync(N, new Tally(), new Tally());

    [Benchmark]
    [BenchmarkCategory(Broadcast)]
    public Task<long[]> Broadcast_Weir() => WeirBlocks.BroadcastAsync(N, new Tally(), new Tally());

    [Benchmark]
    [BenchmarkCategory(Broadcast)]
    public Task<long[]> Broadcast_Channel() => Channels.BroadcastAsync(N, new Tally(), new Tally());

    [Benchmark(Baseline = true)]
    [BenchmarkCategory(Join)]
    public Task<long[]> Join_InBox() => InBoxBlocks.JoinAsync(N, new Tally());

    [Benchmark]
    [BenchmarkCategory(Join)]
    public Task<long[]> Join_Weir() => WeirBlocks.JoinAsync(N, new Tally());

    [Benchmark]
    [BenchmarkCategory(Join)]
    public Task<long[]> Join_Channel() => Channels.JoinAsync(N, new Tally());

    [Benchmark(Baseline = true)]
    [BenchmarkCategory(JoinNotGreedy)]
    public Task<long[]> JoinNotGreedy_InBox() => InBoxBlocks.JoinNotGreedyAsync(N / Fewer, new Tally());

    [Benchmark]
    [BenchmarkCategory(JoinNotGreedy)]
    public Task<long[]> JoinNotGreedy_Weir() => WeirBlocks.JoinNotGreedyAsync(N / Fewer, new Tally());

    [Benchmark(Baseline = true)]
    [BenchmarkCategory(BatchNotGreedy)]
    public Task<long[]> BatchNotGreedy_InBox() => InBoxBlocks.BatchNotGreedyAsync(N / Fewer, new Tally());

    [Benchmark]
    [BenchmarkCategory(BatchNotGreedy)]
    public Task<long[]> BatchNotGreedy_Weir() => WeirBlocks.BatchNotGreedyAsync(N / Fewer, new Tally());

    private protected override void Prepare(CallCounter? counter)
    {
        // Nothing depends on the parameters.
    }

    private static IEnumerable<Goal> Beside(string arm, params string[] others) => others.Select(other => Goal.TimeRatio(arm, other, 1));
}
