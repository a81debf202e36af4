namespace Weir.Lab.Suites;

/// <summary>The consumer leaves after ten results of an endless source; all that was started has ended when the loop has been left.</summary>
[SuiteInfo(60, "Stream left after 10 results of an endless source, limit 8",
    "Immediate: within 1 ms, even while items in flight would never complete on their own.")]
public class CoreEarlyExitBenchmarks : ItemSuite
{
    /// <summary>How many results are taken.</summary>
    public override int N { get; set; } = 10;

    /// <summary>Whether the items after the tenth complete only by cancellation.</summary>
    [Params(false, true)]
    public bool RestStuck { get; set; }

    internal override IEnumerable<Goal> Goals =>
    [
        Goal.TimePerRun(nameof(StreamUnordered), TimeSpan.FromMilliseconds(1)),
        Goal.TimePerRun(nameof(StreamOrdered), TimeSpan.FromMilliseconds(1)),
    ];

    private protected override int Limit => 8;

    /// <summary>An iterator that awaits each item: it has nothing in flight when it is left.</summary>
    [Benchmark(Baseline = true)]
    public Task<int> AwaitForeach() => TakeAsync(AwaitLoop.Stream(Sources.Endless(), Call));

    /// <summary>Weir, in the order of completion.</summary>
    [Benchmark]
    public Task<int> StreamUnordered() => TakeAsync(Sources.Endless().SelectParallelStreamAsync(Call, Options));

    /// <summary>Weir, in source order.</summary>
    [Benchmark]
    public Task<int> StreamOrdered() => TakeAsync(Sources.Endless().SelectParallelStreamAsync(Call, Options with { OrderedOutput = true }));

    /// <summary>Two bounded channels with workers between them, cancelled and awaited.</summary>
    [Benchmark]
    public Task<int> ChannelAndWorkers() => TakeAsync(ChannelWorkers.Stream(Sources.Endless(), Limit, Call));

    /// <summary>EnumerableAsyncProcessor, in source order. An asynchronous source, because it reads a synchronous one to its end first.</summary>
    [Benchmark]
    public Task<int> EnumerableProcessor() => TakeAsync(AsyncProcessor.Stream(Sources.Endless().ToAsyncEnumerable(), Limit, Call));

    private protected override ItemCall MakeCall() => RestStuck ? ItemCalls.StuckAfter(N) : ItemCalls.Light;

    // Arms may read ahead by different amounts; only the consumer's results are equal.
    private protected override long? ExpectedCalls(string category) => null;

    private async Task<int> TakeAsync(IAsyncEnumerable<int> stream)
    {
        int taken = 0;
        await foreach (int _ in stream)
        {
            if (++taken == N)
            {
                break;
            }
        }

        return taken;
    }
}
