namespace Weir.Lab.Suites;

/// <summary>The published suite CoreOperators: its parameters and method names, with one baseline for each kind of work instead of one for all.</summary>
[CategoriesColumn]
[Iterations(most: 15, mostWarmUps: 5)]
[SuiteInfo(
    100,
    "Published suite: CoreOperators",
    "All operators at the same work as their peers; the published baseline sleeps while its candidates multiply, so each kind of work has its own baseline "
        + "here.",
    OnlyByName = true)]
public class CoreOperatorsBenchmarks : Suite
{
    private const string CpuBoundLight = "CpuBound_Light";
    private const string Io = "IoSimulation";
    private const string Streaming = "Streaming";
    private const string SideEffects = "SideEffects";

    private readonly ParallelRunOptions _eight = new() { MaxDegreeOfParallelism = 8 };
    private readonly ParallelRunOptions _thirtyTwo = new() { MaxDegreeOfParallelism = 32 };
    private readonly ParallelRunOptions _thirtyTwoOrdered = new() { MaxDegreeOfParallelism = 32, OrderedOutput = true };

    private IEnumerable<int> _source = [];
    private ItemCall _light = null!;
    private ItemCall _io = null!;
    private Func<int, CancellationToken, ValueTask> _sideEffect = null!;
    private long _sum;

    /// <summary>A multiplication per item, limit 8.</summary>
    [Benchmark]
    [BenchmarkCategory(CpuBoundLight)]
    public Task<List<int>> SelectParallel_CpuBound_Light() => _source.SelectParallelAsync(_light, _eight);

    /// <summary>A multiplication per item in a plain loop.</summary>
    [Benchmark(Baseline = true)]
    [BenchmarkCategory(CpuBoundLight)]
    public Task<List<int>> AwaitLoop_CpuBound_Light() => AwaitLoop.RunAsync(_source, N, _light);

    /// <summary>A multiplication per item in the platform's parallel loop.</summary>
    [Benchmark]
    [BenchmarkCategory(CpuBoundLight)]
    public Task<int[]> ParallelForEachAsync_CpuBound_Light() => ForEachAsync.RunAsync(_source, N, 8, _light);

    /// <summary>A multiplication per item by workers behind a channel.</summary>
    [Benchmark]
    [BenchmarkCategory(CpuBoundLight)]
    public Task<int[]> ChannelAndWorkers_CpuBound_Light() => ChannelWorkers.RunAsync(_source, N, 8, _light);

    /// <summary>A multiplication per item by EnumerableAsyncProcessor.</summary>
    [Benchmark]
    [BenchmarkCategory(CpuBoundLight)]
    public Task<int[]> EnumerableProcessor_CpuBound_Light() => AsyncProcessor.RunAsync(_source, 8, _light);

    /// <summary>A delay of 1 ms per item, limit 32.</summary>
    [Benchmark]
    [BenchmarkCategory(Io)]
    public Task<List<int>> SelectParallel_IoSimulation() => _source.SelectParallelAsync(_io, _thirtyTwo);

    /// <summary>A delay of 1 ms per item, limit 32, with results in source order.</summary>
    [Benchmark]
    [BenchmarkCategory(Io)]
    public Task<List<int>> SelectParallel_OrderedOutput() => _source.SelectParallelAsync(_io, _thirtyTwoOrdered);

    /// <summary>A delay of 1 ms per item, one item after the other.</summary>
    [Benchmark(Baseline = true)]
    [BenchmarkCategory(Io)]
    public Task<List<int>> Baseline_Sequential() => AwaitLoop.RunAsync(_source, N, _io);

    /// <summary>A delay of 1 ms per item, all at once.</summary>
    [Benchmark]
    [BenchmarkCategory(Io)]
    public Task<int[]> Baseline_TaskWhenAll() => TaskWhenAll.UnboundedAsync(_source, _io);

    /// <summary>A delay of 1 ms per item in the platform's parallel loop.</summary>
    [Benchmark]
    [BenchmarkCategory(Io)]
    public Task<int[]> ParallelForEachAsync_IoSimulation() => ForEachAsync.RunAsync(_source, N, 32, _io);

    /// <summary>A delay of 1 ms in a task per item, behind a semaphore.</summary>
    [Benchmark]
    [BenchmarkCategory(Io)]
    public Task<int[]> WhenAllSemaphore_IoSimulation() => TaskWhenAll.WithSemaphoreAsync(_source, 32, _io);

    /// <summary>A delay of 1 ms per item by EnumerableAsyncProcessor, limit 32.</summary>
    [Benchmark]
    [BenchmarkCategory(Io)]
    public Task<int[]> EnumerableProcessor_IoSimulation() => AsyncProcessor.RunAsync(_source, 32, _io);

    /// <summary>A stream of multiplications over an asynchronous source, counted; limit 8.</summary>
    [Benchmark]
    [BenchmarkCategory(Streaming)]
    public Task<int> SelectParallelStream_Streaming() => CountAsync(_source.ToAsyncEnumerable().SelectParallelStreamAsync(_light, _eight));

    /// <summary>A stream of multiplications from an iterator that awaits each item.</summary>
    [Benchmark(Baseline = true)]
    [BenchmarkCategory(Streaming)]
    public Task<int> AwaitForeach_Streaming() => CountAsync(AwaitLoop.Stream(_source.ToAsyncEnumerable(), _light));

    /// <summary>A stream of multiplications through two channels with workers between them.</summary>
    [Benchmark]
    [BenchmarkCategory(Streaming)]
    public Task<int> ChannelAndWorkers_Streaming() => CountAsync(ChannelWorkers.Stream(_source.ToAsyncEnumerable(), 8, _light));

    /// <summary>A stream of multiplications by EnumerableAsyncProcessor.</summary>
    [Benchmark]
    [BenchmarkCategory(Streaming)]
    public Task<int> EnumerableProcessor_Streaming() => CountAsync(AsyncProcessor.Stream(_source.ToAsyncEnumerable(), 8, _light));

    /// <summary>An atomic addition per item of an asynchronous source; limit 8.</summary>
    [Benchmark]
    [BenchmarkCategory(SideEffects)]
    public Task<long> ForEachParallel_SideEffects() => SumAsync(() => _source.ToAsyncEnumerable().ForEachParallelAsync(_sideEffect, _eight));

    /// <summary>An atomic addition per item in a plain loop.</summary>
    [Benchmark(Baseline = true)]
    [BenchmarkCategory(SideEffects)]
    public Task<long> AwaitForeach_SideEffects() => SumAsync(async () =>
    {
        await foreach (int item in _source.ToAsyncEnumerable())
        {
            await _sideEffect(item, CancellationToken.None);
        }
    });

    /// <summary>An atomic addition per item in the platform's parallel loop.</summary>
    [Benchmark]
    [BenchmarkCategory(SideEffects)]
    public Task<long> ParallelForEachAsync_SideEffects() => SumAsync(() =>
        Parallel.ForEachAsync(_source.ToAsyncEnumerable(), new ParallelOptions { MaxDegreeOfParallelism = 8 }, _sideEffect));

    /// <summary>An atomic addition per item by EnumerableAsyncProcessor.</summary>
    [Benchmark]
    [BenchmarkCategory(SideEffects)]
    public Task<long> EnumerableProcessor_SideEffects() => SumAsync(() => AsyncProcessor.ForEachAsync(_source.ToAsyncEnumerable(), 8, _sideEffect));

    private protected override void Prepare(CallCounter? counter)
    {
        _source = Sources.Of(SourceKind.Range, N);
        _light = CallCounter.Around(counter, ItemCalls.Light);
        _io = CallCounter.Around(counter, ItemCalls.Delaying(1));
        _sideEffect = CallCounter.Around<int, ValueTask>(counter, (item, _) =>
        {
            Interlocked.Add(ref _sum, item);
            return ValueTask.CompletedTask;
        });
    }

    private static async Task<int> CountAsync(IAsyncEnumerable<int> stream) => await stream.CountAsync();

    private async Task<long> SumAsync(Func<Task> run)
    {
        _sum = 0;
        await run();
        return _sum;
    }
}
