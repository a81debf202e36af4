namespace Weir.Lab.Suites;

/// <summary>A stream of items that complete at once.</summary>
[SuiteInfo(50, "Stream of 1,000 sync items, limit 8", "At most 60 us and 4 KB, in source order as well.")]
public class CoreStreamBenchmarks : StreamSuite
{
    /// <summary>What the items come from.</summary>
    [Params(SourceKind.Array, SourceKind.Async)]
    public SourceKind Source { get; set; }

    internal override IEnumerable<Goal> Goals =>
    [
        Goal.TimePerRun(nameof(StreamUnordered), TimeSpan.FromMicroseconds(60)),
        Goal.BytesPerRun(nameof(StreamUnordered), 4096),
        Goal.TimePerRun(nameof(StreamOrdered), TimeSpan.FromMicroseconds(60)),
        Goal.BytesPerRun(nameof(StreamOrdered), 4096),
        Goal.HopsPerItem(nameof(StreamUnordered), 0.1),
        Goal.HopsPerItem(nameof(StreamOrdered), 0.1),
    ];

    private protected override int Limit => 8;

    /// <summary>An iterator that awaits each item.</summary>
    [Benchmark(Baseline = true)]
    public Task<ArraySegment<int>> AwaitForeach() => DrainAsync(Source == SourceKind.Async
        ? AwaitLoop.Stream(Items.ToAsyncEnumerable(), Call)
        : AwaitLoop.Stream(Items, Call));

    /// <summary>Weir, in the order of completion.</summary>
    [Benchmark]
    [AnyOrder]
    public Task<ArraySegment<int>> StreamUnordered() => DrainAsync(Stream(Options));

    /// <summary>Weir, in source order.</summary>
    [Benchmark]
    public Task<ArraySegment<int>> StreamOrdered() => DrainAsync(Stream(OrderedOptions));

    /// <summary>Two bounded channels with workers between them; in the order of completion.</summary>
    [Benchmark]
    [AnyOrder]
    public Task<ArraySegment<int>> ChannelAndWorkers() => DrainAsync(Source == SourceKind.Async
        ? ChannelWorkers.Stream(Items.ToAsyncEnumerable(), Limit, Call)
        : ChannelWorkers.Stream(Items, Limit, Call));

    /// <summary>EnumerableAsyncProcessor: in the order of completion over an array, and in source order over an asynchronous source.</summary>
    [Benchmark]
    [AnyOrder]
    public Task<ArraySegment<int>> EnumerableProcessor() => DrainAsync(Source == SourceKind.Async
        ? AsyncProcessor.Stream(Items.ToAsyncEnumerable(), Limit, Call)
        : AsyncProcessor.Stream(Items, Limit, Call));

    private protected override ItemCall MakeCall() => ItemCalls.Light;

    private IAsyncEnumerable<int> Stream(ParallelRunOptions options) => Source == SourceKind.Async
        ? Items.ToAsyncEnumerable().SelectParallelStreamAsync(Call, options)
        : Items.SelectParallelStreamAsync(Call, options);
}
