using Weir.Runtimes;

namespace Weir.Lab.Suites;

/// <summary>Items with keys. Those of one key run one at a time and in order: the cost of the lanes.</summary>
[SuiteInfo(
    75,
    "Keyed lanes, 2,000 items, limit 8",
    "Never slower than a semaphore or a channel for each key, written by hand, and with less memory, even when one key has nine items in ten.")]
public class CoreKeyedLanesBenchmarks : ItemSuite
{
    private const int Keys = 100;

    private int[] _items = [];
    private Func<int, int> _keyOf = static item => item;

    public override int N { get; set; } = 2_000;

    /// <summary>How the items spread over keys.</summary>
    [Params(Keying.Uniform, Keying.Hot)]
    public Keying Keyed { get; set; }

    /// <summary>Whether an item suspends once, or is done at once.</summary>
    [Params(false, true)]
    public bool Suspends { get; set; }

    // Items that are done at once never leave the caller's thread behind semaphores, which is no parallel run to be measured by.
    internal override IEnumerable<Goal> Goals => Suspends
        ?
        [
            Goal.TimeRatio(nameof(SelectParallel), nameof(SemaphorePerKey), 1.0),
            Goal.TimeRatio(nameof(SelectParallel), nameof(ChannelPerKey), 1.0),
            Goal.BytesRatio(nameof(SelectParallel), nameof(SemaphorePerKey), 1.0),
            Goal.TimeRatio(nameof(ConcurrentRuntime), nameof(SemaphorePerKey), 1.0),
        ]
        :
        [
            Goal.TimeRatio(nameof(SelectParallel), nameof(ChannelPerKey), 1.0),
            Goal.BytesRatio(nameof(SelectParallel), nameof(ChannelPerKey), 1.0),
            Goal.TimeRatio(nameof(ConcurrentRuntime), nameof(ChannelPerKey), 1.0),
        ];

    private protected override int Limit => 8;

    /// <summary>A semaphore for each key.</summary>
    [Benchmark(Baseline = true)]
    public Task<int[]> SemaphorePerKey() => KeyedByHand.SemaphorePerKeyAsync(_items, Limit, _keyOf, Call);

    /// <summary>A channel and a worker for each key.</summary>
    [Benchmark]
    public Task<int[]> ChannelPerKey() => KeyedByHand.ChannelPerKeyAsync(_items, Limit, _keyOf, Call);

    /// <summary>Weir's operator.</summary>
    [Benchmark]
    public Task<List<int>> SelectParallel() => _items.PartitionBy(_keyOf).SelectParallelAsync(Call, Options);

    /// <summary>Weir's concurrent runtime, with an outcome for each item.</summary>
    [Benchmark]
    public async Task<int[]> ConcurrentRuntime()
    {
        await using ConcurrentRuntime runtime = new(Limit);
        return await ValuesAsync(runtime);
    }

    /// <summary>Weir's auto runtime, new for each run.</summary>
    [Benchmark]
    public async Task<int[]> AutoRuntime()
    {
        await using AutoRuntime runtime = new(Limit);
        return await ValuesAsync(runtime);
    }

    private protected override ItemCall MakeCall() => Suspends ? ItemCalls.Yielding : ItemCalls.Light;

    private protected override void Prepare(CallCounter? counter)
    {
        base.Prepare(counter);
        _items = [.. Sources.Of(SourceKind.Array, N)];
        _keyOf = Keyed == Keying.Uniform ? static item => item % Keys : static item => item % 10 == 0 ? item : -1;
    }

    private async Task<int[]> ValuesAsync(IExecutionRuntime runtime)
    {
        ItemOutcome<int, int>[] outcomes = await runtime.ProcessManyAsync(_items.PartitionBy(_keyOf), Call);
        int[] values = new int[outcomes.Length];
        for (int i = 0; i < values.Length; i++)
        {
            values[i] = outcomes[i].Value;
        }

        return values;
    }
}
