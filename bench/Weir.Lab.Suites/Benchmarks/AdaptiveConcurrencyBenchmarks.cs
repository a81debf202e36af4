namespace Weir.Lab.Suites;

/// <summary>500 items at a server with a number of slots that the adaptive limit has to find, compared with limits that know it.</summary>
[Iterations(most: 8, mostWarmUps: 2)]
[SuiteInfo(
    300,
    "Adaptive concurrency, from a cold start",
    "At most a tenth longer than with the best fixed limit, which one would have to know beforehand.",
    Set = SuiteSet.Resilience,
    OnlyByName = true)]
public class AdaptiveConcurrencyBenchmarks : ItemSuite
{
    private static readonly ParallelRunOptions Adapting = new() { AdaptiveConcurrency = new AdaptiveConcurrencyOptions() };

    /// <summary>How many items an arm works on.</summary>
    public override int N { get; set; } = 500;

    /// <summary>How many calls the server works on at once.</summary>
    [Params(4, 16, 64)]
    public int Slots { get; set; }

    internal override IEnumerable<Goal> Goals => [Goal.TimeRatio(nameof(SelectParallel_Adaptive), nameof(SelectParallel_LimitOfTheSlots), 1.10)];

    private protected override SourceKind ItemsKind => SourceKind.Range;

    private protected override int Limit => Slots;

    /// <summary>The fixed limit that uses all slots and queues nothing.</summary>
    [Benchmark(Baseline = true)]
    public Task<List<int>> SelectParallel_LimitOfTheSlots() => Items.SelectParallelAsync(Call, Options);

    /// <summary>A fixed limit that is too low.</summary>
    [Benchmark]
    public Task<List<int>> SelectParallel_LimitOfHalfTheSlots() => Items.SelectParallelAsync(Call, Options with { MaxDegreeOfParallelism = Slots / 2 });

    /// <summary>A limit that adapts, with its defaults.</summary>
    [Benchmark]
    public Task<List<int>> SelectParallel_Adaptive() => Items.SelectParallelAsync(Call, Adapting);

    private protected override ItemCall MakeCall() => SlotServer.Call(Slots);
}
