namespace Weir.Lab.Suites;

/// <summary>Blocks: messages that are waited for.</summary>
[SuiteInfo(
    130,
    "Blocks: messages that are waited for",
    "At least 4x faster than in-box (bound 1: 3x, receive before post: 5x, yielding actions: 2x), with no byte a message in the forms that return value tasks.",
    Set = SuiteSet.Dataflow)]
public class DataflowHandOverBenchmarks : DataflowSuite
{
    private Func<int, Task> _yield = static async _ => await Task.Yield();

    [Params(20_000, 1_000_000)]
    public override int N { get; set; }

    internal override IEnumerable<Goal> Goals =>
    [
        Goal.TimeRatio(nameof(Send1_Weir), nameof(Send1_InBox), 1 / 3.0),
        Goal.TimeRatio(nameof(Send1_WeirValueTask), nameof(Send1_InBox), 1 / 3.0),
        Goal.BytesPerItem(nameof(Send1_WeirValueTask), 1),
        Goal.TimeRatio(nameof(Send1_WeirValueTask), nameof(Send1_Channel), 1.0),
        Goal.TimeRatio(nameof(Buffer1_Weir), nameof(Buffer1_InBox), 1 / 4.0),
        Goal.TimeRatio(nameof(Buffer1_WeirValueTask), nameof(Buffer1_InBox), 1 / 4.0),
        Goal.BytesPerItem(nameof(Buffer1_WeirValueTask), 1),
        Goal.TimeRatio(nameof(Buffer1_WeirValueTask), nameof(Buffer1_Channel), 1.0),
        Goal.TimeRatio(nameof(Buffer1Tasks_Weir), nameof(Buffer1Tasks_InBox), 1 / 4.0),
        Goal.TimeRatio(nameof(Buffer1Tasks_WeirValueTask), nameof(Buffer1Tasks_InBox), 1 / 4.0),
        Goal.BytesPerItem(nameof(Buffer1Tasks_WeirValueTask), 1),
        Goal.TimeRatio(nameof(Buffer1Tasks_WeirValueTask), nameof(Buffer1Tasks_Channel), 1.0),
        Goal.TimeRatio(nameof(ReceiveFirst_Weir), nameof(ReceiveFirst_InBox), 1 / 5.0),
        Goal.TimeRatio(nameof(ReceiveFirst_WeirValueTask), nameof(ReceiveFirst_InBox), 1 / 5.0),
        Goal.BytesPerItem(nameof(ReceiveFirst_WeirValueTask), 1),
        Goal.TimeRatio(nameof(ReceiveFirst_WeirValueTask), nameof(ReceiveFirst_Channel), 1.0),
        Goal.TimeRatio(nameof(AsyncYield_Weir), nameof(AsyncYield_InBox), 1 / 2.0),
        Goal.BytesPerItem(nameof(AsyncYield_Weir), 150),
    ];

    [Benchmark(Baseline = true)]
    [BenchmarkCategory("SendAsync, bound 1")]
    public Task<long[]> Send1_InBox() => InBoxBlocks.SendAsync(N, new Tally(), 1);

    [Benchmark]
    [BenchmarkCategory("SendAsync, bound 1")]
    public Task<long[]> Send1_Weir() => WeirBlocks.SendAsync(N, new Tally(), 1);

    [Benchmark]
    [BenchmarkCategory("SendAsync, bound 1")]
    public Task<long[]> Send1_WeirValueTask() => WeirValueTasks.SendAsync(N, new Tally(), 1);

    [Benchmark]
    [BenchmarkCategory("SendAsync, bound 1")]
    public Task<long[]> Send1_Channel() => Channels.SendAsync(N, new Tally(), 1);

    [Benchmark(Baseline = true)]
    [BenchmarkCategory("Buffer of 1, one caller")]
    public Task<long[]> Buffer1_InBox() => InBoxBlocks.SendReceiveAsync(N);

    [Benchmark]
    [BenchmarkCategory("Buffer of 1, one caller")]
    public Task<long[]> Buffer1_Weir() => WeirBlocks.SendReceiveAsync(N);

    [Benchmark]
    [BenchmarkCategory("Buffer of 1, one caller")]
    public Task<long[]> Buffer1_WeirValueTask() => WeirValueTasks.SendReceiveAsync(N);

    [Benchmark]
    [BenchmarkCategory("Buffer of 1, one caller")]
    public Task<long[]> Buffer1_Channel() => Channels.SendReceiveAsync(N);

    [Benchmark(Baseline = true)]
    [BenchmarkCategory("Buffer of 1, two tasks")]
    public Task<long[]> Buffer1Tasks_InBox() => InBoxBlocks.SendReceiveTasksAsync(N);

    [Benchmark]
    [BenchmarkCategory("Buffer of 1, two tasks")]
    public Task<long[]> Buffer1Tasks_Weir() => WeirBlocks.SendReceiveTasksAsync(N);

    [Benchmark]
    [BenchmarkCategory("Buffer of 1, two tasks")]
    public Task<long[]> Buffer1Tasks_WeirValueTask() => WeirValueTasks.SendReceiveTasksAsync(N);

    [Benchmark]
    [BenchmarkCategory("Buffer of 1, two tasks")]
    public Task<long[]> Buffer1Tasks_Channel() => Channels.SendReceiveTasksAsync(N);

    [Benchmark(Baseline = true)]
    [BenchmarkCategory("Receive, then Post")]
    public Task<long[]> ReceiveFirst_InBox() => InBoxBlocks.ReceiveThenPostAsync(N);

    [Benchmark]
    [BenchmarkCategory("Receive, then Post")]
    public Task<long[]> ReceiveFirst_Weir() => WeirBlocks.ReceiveThenPostAsync(N);

    [Benchmark]
    [BenchmarkCategory("Receive, then Post")]
    public Task<long[]> ReceiveFirst_WeirValueTask() => WeirValueTasks.ReceiveThenPostAsync(N);

    [Benchmark]
    [BenchmarkCategory("Receive, then Post")]
    public Task<long[]> ReceiveFirst_Channel() => Channels.ReceiveThenPostAsync(N);

    [Benchmark(Baseline = true)]
    [BenchmarkCategory("Async action, yielding, parallelism 2")]
    public Task<long[]> AsyncYield_InBox() => InBoxBlocks.PostAsyncDelegateAsync(N, _yield, 2);

    [Benchmark]
    [BenchmarkCategory("Async action, yielding, parallelism 2")]
    public Task<long[]> AsyncYield_Weir() => WeirBlocks.PostAsyncDelegateAsync(N, _yield, 2);

    private protected override long? ExpectedCalls(string category) => category == "Async action, yielding, parallelism 2" ? N : null;

    private protected override void Prepare(CallCounter? counter)
    {
        _yield = CallCounter.Around(counter, static async (int _) => await Task.Yield());
    }
}
