namespace Weir.Lab.Suites;

/// <summary>A suite whose arms all make the list of all results, in source order, and whose baseline is the plain loop.</summary>
public abstract class ListSuite : ItemSuite
{
    /// <summary>The plain loop.</summary>
    [Benchmark(Baseline = true)]
    public Task<List<int>> AwaitLoop() => Lab.Catalog.AwaitLoop.RunAsync(Items, N, Call);

    /// <summary>Weir.</summary>
    [Benchmark]
    public Task<List<int>> SelectParallel() => Items.SelectParallelAsync(Call, Options);

    /// <summary>The platform's own parallel loop.</summary>
    [Benchmark]
    public Task<int[]> ParallelForEachAsync() => ForEachAsync.RunAsync(Items, N, Limit, Call);

    /// <summary>A task per item, without any limit.</summary>
    [Benchmark]
    public Task<int[]> WhenAllUnbounded() => TaskWhenAll.UnboundedAsync(Items, Call);

    /// <summary>A task per item behind a semaphore.</summary>
    [Benchmark]
    public Task<int[]> WhenAllSemaphore() => TaskWhenAll.WithSemaphoreAsync(Items, Limit, Call);

    /// <summary>A bounded channel and a fixed number of workers.</summary>
    [Benchmark]
    public Task<int[]> ChannelAndWorkers() => ChannelWorkers.RunAsync(Items, N, Limit, Call);

    /// <summary>EnumerableAsyncProcessor.</summary>
    [Benchmark]
    public Task<int[]> EnumerableProcessor() => AsyncProcessor.RunAsync(Items, Limit, Call);
}
