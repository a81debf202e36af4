namespace Weir.Lab.Suites;

/// <summary>A limit that runs share (a bulkhead), with a permit for each worker of the run, or for every second one.</summary>
[SuiteInfo(
    60,
    "Shared limit: one yield an item",
    "At most the time of a semaphore around the call, and at most 16 bytes an item more than without a limit, whether calls wait or not.",
    Set = SuiteSet.Resilience)]
public class SharedLimitBenchmarks : ItemSuite
{
    private ParallelRunOptions _shared = null!;

    /// <summary>How many calls may run at once; the run has 8 workers.</summary>
    [Params(8, 4)]
    public int Places { get; set; }

    internal override IEnumerable<Goal> Goals =>
    [
        Goal.TimeRatio(nameof(SelectParallel_SharedLimit), nameof(SelectParallel_SemaphoreSlim), 1.0),
        Goal.BytesRatio(nameof(SelectParallel_SharedLimit), nameof(SelectParallel), 1.0, extraBytesPerItem: 16),
    ];

    private protected override int Limit => 8;

    /// <summary>The usual limit by hand: a semaphore that each call enters.</summary>
    [Benchmark(Baseline = true)]
    public async Task<List<int>> SelectParallel_SemaphoreSlim()
    {
        using SemaphoreSlim semaphore = new(Places);
        return await Items.SelectParallelAsync(
            async (item, token) =>
            {
                await semaphore.WaitAsync(token);
                try
                {
                    return await Call(item, token);
                }
                finally
                {
                    semaphore.Release();
                }
            },
            Options);
    }

    /// <summary>The run without such a limit, which has as many calls in flight as it has workers.</summary>
    [Benchmark]
    public Task<List<int>> SelectParallel() => Items.SelectParallelAsync(Call, Options);

    /// <summary>Weir's shared limit.</summary>
    [Benchmark]
    public Task<List<int>> SelectParallel_SharedLimit() => Items.SelectParallelAsync(Call, _shared);

    private protected override ItemCall MakeCall() => ItemCalls.Yielding;

    private protected override void Prepare(CallCounter? counter)
    {
        base.Prepare(counter);
        _shared = Options with { ConcurrencyLimit = new SharedConcurrencyLimit(Places) };
    }
}
