namespace Weir.Lab.Suites;

/// <summary>A request that calls several services at once: few items, all of which suspend, and a limit above their number.</summary>
[SuiteInfo(
    35,
    "A request's fan-out: few items that all suspend, limit 100",
    "At most 1.5 times the time of Task.WhenAll; one item in 1,400 bytes, 20 in 3,200; a time limit an item adds at most 100 bytes to each and 500 to the run.")]
public class CoreFanOutBenchmarks : ItemSuite
{
    private int[] _items = [];
    private ParallelRunOptions _timed = null!;

    [Params(1, 5, 20, 100)]
    public override int N { get; set; } = 20;

    internal override IEnumerable<Goal> Goals
    {
        get
        {
            yield return Goal.TimeRatio(nameof(SelectParallel), nameof(WhenAll), 1.5);
            if (N is 1 or 20)
            {
                yield return Goal.BytesPerRun(nameof(SelectParallel), N == 1 ? 1_400 : 3_200);
            }

            yield return Goal.BytesRatio(nameof(SelectParallelItemTimeout), nameof(SelectParallel), 1, extraBytesPerItem: 100, extraBytes: 500);
        }
    }

    private protected override int Limit => 100;

    /// <summary>A task per item.</summary>
    [Benchmark(Baseline = true)]
    public Task<int[]> WhenAll() => TaskWhenAll.UnboundedAsync(_items, Call);

    /// <summary>Weir.</summary>
    [Benchmark]
    public Task<List<int>> SelectParallel() => _items.SelectParallelAsync(Call, Options);

    /// <summary>Weir, with a time limit for each item.</summary>
    [Benchmark]
    public Task<List<int>> SelectParallelItemTimeout() => _items.SelectParallelAsync(Call, _timed);

    /// <summary>The platform's own parallel loop.</summary>
    [Benchmark]
    public Task<int[]> ParallelForEachAsync() => ForEachAsync.RunAsync(_items, N, Limit, Call);

    /// <summary>EnumerableAsyncProcessor.</summary>
    [Benchmark]
    public Task<int[]> EnumerableProcessor() => AsyncProcessor.RunAsync(_items, Limit, Call);

    private protected override ItemCall MakeCall() => ItemCalls.Yielding;

    private protected override void Prepare(CallCounter? counter)
    {
        base.Prepare(counter);
        _items = (int[])Sources.Of(SourceKind.Array, N);
        _timed = Features.PerItemTimeout(Options);
    }
}
