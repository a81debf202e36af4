namespace Weir.Lab.Suites;

/// <summary>The published suite ConcurrencyScaling: 1,000 items with a delay of 1 ms each, at each limit.</summary>
[Iterations(most: 8, mostWarmUps: 2)]
[SuiteInfo(
    130,
    "Published suite: ConcurrencyScaling",
    "The pace of Parallel.ForEachAsync (one tick of the timer for as many items as the limit) at each limit, with less memory.",
    OnlyByName = true)]
public class ConcurrencyScalingBenchmarks : ItemSuite
{
    /// <summary>How many items may be in flight.</summary>
    [Params(1, 2, 4, 8, 16, 32, 64, 128)]
    public int MaxDegreeOfParallelism { get; set; }

    internal override IEnumerable<Goal> Goals =>
    [
        Goal.TimeRatio(nameof(SelectParallel), nameof(ParallelForEachAsync), 1.03),
        Goal.BytesRatio(nameof(SelectParallel), nameof(ParallelForEachAsync), 1.0),
    ];

    private protected override SourceKind ItemsKind => SourceKind.Range;

    private protected override int Limit => MaxDegreeOfParallelism;

    /// <summary>The platform's own parallel loop.</summary>
    [Benchmark(Baseline = true)]
    public Task<int[]> ParallelForEachAsync() => ForEachAsync.RunAsync(Items, N, Limit, Call);

    /// <summary>Weir.</summary>
    [Benchmark]
    public Task<List<int>> SelectParallel() => Items.SelectParallelAsync(Call, Options);

    /// <summary>A task per item behind a semaphore.</summary>
    [Benchmark]
    public Task<int[]> WhenAllSemaphore() => TaskWhenAll.WithSemaphoreAsync(Items, Limit, Call);

    /// <summary>A bounded channel and a fixed number of workers.</summary>
    [Benchmark]
    public Task<int[]> ChannelAndWorkers() => ChannelWorkers.RunAsync(Items, N, Limit, Call);

    /// <summary>EnumerableAsyncProcessor.</summary>
    [Benchmark]
    public Task<int[]> EnumerableProcessor() => AsyncProcessor.RunAsync(Items, Limit, Call);

    private protected override ItemCall MakeCall() => ItemCalls.Delaying(1);
}
