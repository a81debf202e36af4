namespace Weir.Lab.Suites;

/// <summary>Blocks: sending to a bounded block, asynchronous actions.</summary>
[SuiteInfo(
    120,
    "Blocks: sending to a bounded block, asynchronous actions",
    "At least 4x faster than in-box; actions that return a completed task 2x.",
    Set = SuiteSet.Dataflow)]
public class DataflowSendBenchmarks : DataflowSuite
{
    private Func<int, Task> _done = static _ => Task.CompletedTask;

    [Params(200_000, 6_000_000)]
    public override int N { get; set; }

    internal override IEnumerable<Goal> Goals =>
    [
        Goal.TimeRatio(nameof(Send1000_Weir), nameof(Send1000_InBox), 1 / 4.0),
        Goal.TimeRatio(nameof(Send1000_WeirValueTask), nameof(Send1000_InBox), 1 / 4.0),
        Goal.BytesPerItem(nameof(Send1000_WeirValueTask), 1),
        Goal.TimeRatio(nameof(Send1000_WeirValueTask), nameof(Send1000_Channel), 1.0),
        Goal.TimeRatio(nameof(AsyncDone_Weir), nameof(AsyncDone_InBox), 1 / 2.0),
        Goal.BytesPerItem(nameof(AsyncDone_Weir), 150),
        .. Dense(nameof(Send1000_Weir), nameof(Send1000_WeirValueTask), nameof(AsyncDone_Weir)),
    ];

    [Benchmark(Baseline = true)]
    [BenchmarkCategory("SendAsync, bound 1000")]
    public Task<long[]> Send1000_InBox() => InBoxBlocks.SendAsync(N, new Tally(), 1000);

    [Benchmark]
    [BenchmarkCategory("SendAsync, bound 1000")]
    public Task<long[]> Send1000_Weir() => WeirBlocks.SendAsync(N, new Tally(), 1000);

    [Benchmark]
    [BenchmarkCategory("SendAsync, bound 1000")]
    public Task<long[]> Send1000_WeirValueTask() => WeirValueTasks.SendAsync(N, new Tally(), 1000);

    [Benchmark]
    [BenchmarkCategory("SendAsync, bound 1000")]
    public Task<long[]> Send1000_Channel() => Channels.SendAsync(N, new Tally(), 1000);

    [Benchmark(Baseline = true)]
    [BenchmarkCategory("Async action, completed")]
    public Task<long[]> AsyncDone_InBox() => InBoxBlocks.PostAsyncDelegateAsync(N, _done, 1);

    [Benchmark]
    [BenchmarkCategory("Async action, completed")]
    public Task<long[]> AsyncDone_Weir() => WeirBlocks.PostAsyncDelegateAsync(N, _done, 1);

    private protected override long? ExpectedCalls(string category) => category == "Async action, completed" ? N : null;

    private protected override void Prepare(CallCounter? counter)
    {
        _done = CallCounter.Around(counter, static (int _) => Task.CompletedTask);
    }
}
