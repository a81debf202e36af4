namespace Weir.Lab.Suites;

/// <summary>The operators beside those of Akka.Streams. Each arm gives its results, one at a time, to a consumer that puts them into a buffer.</summary>
[Iterations(most: 15, mostWarmUps: 5)]
[SuiteInfo(
    72,
    "Beside Akka.Streams, 1,000 items, limit 32",
    "Less time (waits: 3 % for chance) and fewer bytes than Akka.Streams, in source order and without it. "
        + "What differs in guarantees: a stream of Akka runs as an actor, which can be "
        + "supervised, and joined with other stages that push back; its stages give a call no token, so calls go on when their stream has failed or was left. "
        + "Ours give each call a token, and end only when no call is under way any more. In both, a failed call ends the run unless told otherwise.")]
public class CoreAkkaStreamsBenchmarks : StreamSuite
{
    /// <summary>Whether an item is done at once, yields once, or waits for 1 ms.</summary>
    [Params(Suspension.None, Suspension.Yield, Suspension.Delay)]
    public Suspension Work { get; set; }

    // All arms wait for the same ticks of the timer: only chance tells them apart.
    private double MostTime => Work == Suspension.Delay ? 1.03 : 1;

    internal override IEnumerable<Goal> Goals =>
    [
        Goal.TimeRatio(nameof(StreamOrdered_Weir), nameof(SelectAsync_Akka), MostTime),
        Goal.TimeRatio(nameof(StreamUnordered_Weir), nameof(SelectAsyncUnordered_Akka), MostTime),
        Goal.BytesRatio(nameof(StreamOrdered_Weir), nameof(SelectAsync_Akka), 1),
        Goal.BytesRatio(nameof(StreamUnordered_Weir), nameof(SelectAsyncUnordered_Akka), 1),
    ];

    private protected override int Limit => 32;

    /// <summary>Akka.Streams, in source order.</summary>
    [Benchmark(Baseline = true)]
    public Task<ArraySegment<int>> SelectAsync_Akka() => ReceiveAsync(receive => AkkaStreams.SelectAsync(Items, Limit, Call, receive));

    /// <summary>Akka.Streams, in the order of completion.</summary>
    [Benchmark]
    [AnyOrder]
    public Task<ArraySegment<int>> SelectAsyncUnordered_Akka() =>
        ReceiveAsync(receive => AkkaStreams.SelectAsyncUnordered(Items, Limit, Call, receive));

    /// <summary>Weir, in source order.</summary>
    [Benchmark]
    public Task<ArraySegment<int>> StreamOrdered_Weir() => DrainAsync(Items.SelectParallelStreamAsync(Call, OrderedOptions));

    /// <summary>Weir, in the order of completion.</summary>
    [Benchmark]
    [AnyOrder]
    public Task<ArraySegment<int>> StreamUnordered_Weir() => DrainAsync(Items.SelectParallelStreamAsync(Call, Options));

    /// <summary>Weir's list, always in source order.</summary>
    [Benchmark]
    public Task<List<int>> SelectParallel_Weir() => Items.SelectParallelAsync(Call, Options);

    /// <summary>The platform's own parallel loop, made to keep source order.</summary>
    [Benchmark]
    public Task<int[]> ParallelForEachAsync() => ForEachAsync.RunAsync(Items, N, Limit, Call);

    /// <summary>EnumerableAsyncProcessor, in the order of completion.</summary>
    [Benchmark]
    [AnyOrder]
    public Task<ArraySegment<int>> EnumerableProcessor() => DrainAsync(AsyncProcessor.Stream(Items, Limit, Call));

    private protected override ItemCall MakeCall() => Work switch
    {
        Suspension.None => ItemCalls.Light,
        Suspension.Yield => ItemCalls.Yielding,
        _ => ItemCalls.Delaying(1),
    };
}
