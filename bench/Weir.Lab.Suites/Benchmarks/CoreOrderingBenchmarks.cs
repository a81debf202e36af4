namespace Weir.Lab.Suites;

/// <summary>What source order costs a stream. A list of Weir's is always in source order, so it has no cheaper form.</summary>
[Iterations(most: 15, mostWarmUps: 5)]
[SuiteInfo(70, "Ordered against unordered, 1,000 items, limit 32", "Source order adds no memory (1 % for chance) and no time (3 % for chance).")]
public class CoreOrderingBenchmarks : StreamSuite
{
    /// <summary>Whether an item yields once or waits for 1 ms.</summary>
    [Params(Suspension.Yield, Suspension.Delay)]
    public Suspension Work { get; set; }

    internal override IEnumerable<Goal> Goals =>
    [
        Goal.TimeRatio(nameof(StreamOrdered), nameof(StreamUnordered), 1.03),
        Goal.BytesRatio(nameof(StreamOrdered), nameof(StreamUnordered), 1.01),
    ];

    private protected override int Limit => 32;

    /// <summary>Weir, in the order of completion.</summary>
    [Benchmark(Baseline = true)]
    [AnyOrder]
    public Task<ArraySegment<int>> StreamUnordered() => DrainAsync(Items.SelectParallelStreamAsync(Call, Options));

    /// <summary>Weir, in source order.</summary>
    [Benchmark]
    public Task<ArraySegment<int>> StreamOrdered() => DrainAsync(Items.SelectParallelStreamAsync(Call, OrderedOptions));

    /// <summary>Two bounded channels with workers between them; in the order of completion.</summary>
    [Benchmark]
    [AnyOrder]
    public Task<ArraySegment<int>> ChannelAndWorkers() => DrainAsync(ChannelWorkers.Stream(Items, Limit, Call));

    /// <summary>EnumerableAsyncProcessor, in the order of completion.</summary>
    [Benchmark]
    [AnyOrder]
    public Task<ArraySegment<int>> EnumerableProcessor() => DrainAsync(AsyncProcessor.Stream(Items, Limit, Call));

    /// <summary>Weir's list, always in source order.</summary>
    [Benchmark]
    public Task<List<int>> ListOrdered() => Items.SelectParallelAsync(Call, Options);

    /// <summary>The platform's own parallel loop, made to keep source order.</summary>
    [Benchmark]
    public Task<int[]> ParallelForEachAsync() => ForEachAsync.RunAsync(Items, N, Limit, Call);

    private protected override ItemCall MakeCall() => Work == Suspension.Yield ? ItemCalls.Yielding : ItemCalls.Delaying(1);
}
