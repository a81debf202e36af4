namespace Weir.Lab.Suites;

/// <summary>Items whose call is nothing but the timer's task, without a state machine or results: what is left is the operator's own memory.</summary>
[Iterations(most: 8, mostWarmUps: 2)]
[SuiteInfo(41, "1 ms delays without a state machine of the call's own, limit 32",
    "At most 185 bytes an item, including the timer's task, which the plain loop shows.")]
public class CoreDelayForEachBenchmarks : Suite
{
    private const int Limit = 32;

    private static readonly ParallelRunOptions Options = new() { MaxDegreeOfParallelism = Limit };
    private static readonly ParallelOptions PlatformOptions = new() { MaxDegreeOfParallelism = Limit };

    private int[] _items = [];
    private Func<int, CancellationToken, ValueTask> _action = null!;
    private long _sum;

    internal override IEnumerable<Goal> Goals =>
    [
        Goal.TimeRatio(nameof(ForEachParallel), nameof(AwaitLoop), 1.03 * ((N + Limit - 1) / Limit) / N),
        Goal.BytesPerItem(nameof(ForEachParallel), 185),
    ];

    /// <summary>The plain loop.</summary>
    /// <returns>The sum of the items.</returns>
    [Benchmark(Baseline = true)]
    public Task<long> AwaitLoop() => SumAsync(async () =>
    {
        foreach (int item in _items)
        {
            await _action(item, CancellationToken.None);
        }
    });

    /// <summary>Weir.</summary>
    /// <returns>The sum of the items.</returns>
    [Benchmark]
    public Task<long> ForEachParallel() => SumAsync(() => _items.ForEachParallelAsync(_action, Options));

    /// <summary>The platform's own parallel loop.</summary>
    /// <returns>The sum of the items.</returns>
    [Benchmark]
    public Task<long> ParallelForEachAsync() => SumAsync(() => Parallel.ForEachAsync(_items, PlatformOptions, _action));

    /// <summary>EnumerableAsyncProcessor.</summary>
    /// <returns>The sum of the items.</returns>
    [Benchmark]
    public Task<long> EnumerableProcessor() => SumAsync(() => AsyncProcessor.ForEachAsync(_items, Limit, _action));

    private protected override void Prepare(CallCounter? counter)
    {
        _items = [.. Sources.Of(SourceKind.Array, N)];

        // The token is left alone: a delay that can be cancelled is a larger object, and the plain loop has no token.
        _action = CallCounter.Around<int, ValueTask>(counter, (item, _) =>
        {
            Interlocked.Add(ref _sum, item);
            return new ValueTask(Task.Delay(1, CancellationToken.None));
        });
    }

    private async Task<long> SumAsync(Func<Task> run)
    {
        _sum = 0;
        await run();
        return _sum;
    }
}
