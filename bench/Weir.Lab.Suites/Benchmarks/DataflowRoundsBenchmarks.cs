namespace Weir.Lab.Suites;

/// <summary>Blocks: rounds of posts, each until its last message has come, within one block and with a new block each.</summary>
[SuiteInfo(
    111,
    "Blocks: rounds of posts",
    "As for posting: at least 5x faster than in-box, 2x with SingleProducerConstrained; a round within a block takes no longer than one with a new block "
        + "(10 % for chance).",
    Set = SuiteSet.Dataflow)]
public class DataflowRoundsBenchmarks : DataflowSuite
{
    private static readonly ExecutionDataflowBlockOptions Default = new();
    private static readonly ExecutionDataflowBlockOptions SingleProducer = new() { SingleProducerConstrained = true };
    private InBoxRounds _inBox = null!;
    private InBoxRounds _inBoxSingle = null!;
    private WeirRounds _weir = null!;
    private WeirRounds _weirSingle = null!;

    /// <summary>How many messages a round has.</summary>
    public override int N { get; set; } = 6_000_000;

    internal override IEnumerable<Goal> Goals =>
    [
        Goal.TimeRatio(nameof(Rounds_Weir), nameof(Rounds_InBox), 1 / 5.0),
        Goal.TimeRatio(nameof(Rounds_Weir), nameof(NewBlocks_Weir), 1.1),
        Goal.TimeRatio(nameof(RoundsSingle_Weir), nameof(RoundsSingle_InBox), 1 / 2.0),
        Goal.TimeRatio(nameof(RoundsSingle_Weir), nameof(NewBlocksSingle_Weir), 1.1),
    ];

    [Benchmark(Baseline = true)]
    [BenchmarkCategory("Rounds")]
    public Task<long[]> Rounds_InBox() => (_inBox = _inBox.OrNew()).RoundAsync(N);

    [Benchmark]
    [BenchmarkCategory("Rounds")]
    public Task<long[]> Rounds_Weir() => (_weir = _weir.OrNew()).RoundAsync(N);

    [Benchmark]
    [BenchmarkCategory("Rounds")]
    public Task<long[]> NewBlocks_InBox() => new InBoxRounds(Default).RoundAsync(N);

    [Benchmark]
    [BenchmarkCategory("Rounds")]
    public Task<long[]> NewBlocks_Weir() => new WeirRounds(Default).RoundAsync(N);

    [Benchmark(Baseline = true)]
    [BenchmarkCategory("Rounds, single producer")]
    public Task<long[]> RoundsSingle_InBox() => (_inBoxSingle = _inBoxSingle.OrNew()).RoundAsync(N);

    [Benchmark]
    [BenchmarkCategory("Rounds, single producer")]
    public Task<long[]> RoundsSingle_Weir() => (_weirSingle = _weirSingle.OrNew()).RoundAsync(N);

    [Benchmark]
    [BenchmarkCategory("Rounds, single producer")]
    public Task<long[]> NewBlocksSingle_InBox() => new InBoxRounds(SingleProducer).RoundAsync(N);

    [Benchmark]
    [BenchmarkCategory("Rounds, single producer")]
    public Task<long[]> NewBlocksSingle_Weir() => new WeirRounds(SingleProducer).RoundAsync(N);

    private protected override void Prepare(CallCounter? counter)
    {
        _inBox = new InBoxRounds(Default);
        _inBoxSingle = new InBoxRounds(SingleProducer);
        _weir = new WeirRounds(Default);
        _weirSingle = new WeirRounds(SingleProducer);
    }
}
