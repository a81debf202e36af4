namespace Weir.Lab.Suites;

/// <summary>The published suite Batching: a delay of 5 ms per batch, with the default options (one batch in flight per core).</summary>
[CategoriesColumn]
[Iterations(most: 15, mostWarmUps: 5)]
[SuiteInfo(
    110,
    "Published suite: Batching",
    "Batches at the pace of the platform's chunks and parallel loop (the timer's floor), with no more memory. The published ratio to individual items counts "
        + "waits, not work, so that arm stands alone below.",
    OnlyByName = true)]
public class BatchingBenchmarks : Suite
{
    private const string Lists = "List";
    private const string Streams = "Stream";

    private IEnumerable<int> _source = [];
    private Func<IReadOnlyList<int>, CancellationToken, ValueTask<int>> _call = null!;

    public override int N { get; set; } = 5_000;

    /// <summary>How many items a batch has.</summary>
    [Params(100, 500, 1_000)]
    public int BatchSize { get; set; }

    /// <summary>How many batches are in flight; by default as many as there are cores.</summary>
    private protected virtual int Limit => Environment.ProcessorCount;

    private ParallelRunOptions Options => new() { MaxDegreeOfParallelism = Limit };

    internal override IEnumerable<Goal> Goals =>
    [
        Goal.TimeRatio(nameof(BatchParallel), nameof(ParallelForEachAsync), 1.03),
        Goal.BytesRatio(nameof(BatchParallel), nameof(ParallelForEachAsync), 1.0),
        Goal.TimeRatio(nameof(BatchParallelStream), nameof(ParallelForEachAsync_Stream), 1.03),
        Goal.BytesRatio(nameof(BatchParallelStream), nameof(ParallelForEachAsync_Stream), 1.0),
    ];

    /// <summary>Weir's list.</summary>
    /// <returns>The size of each batch.</returns>
    [Benchmark]
    [BenchmarkCategory(Lists)]
    public Task<List<int>> BatchParallel() => _source.BatchParallelAsync(BatchSize, _call, Options);

    /// <summary>The platform's chunks and parallel loop.</summary>
    /// <returns>The size of each batch.</returns>
    [Benchmark(Baseline = true)]
    [BenchmarkCategory(Lists)]
    public async Task<int[]> ParallelForEachAsync()
    {
        int[] results = new int[(N + BatchSize - 1) / BatchSize];
        await Parallel.ForEachAsync(
            _source.Chunk(BatchSize).Index(),
            new ParallelOptions { MaxDegreeOfParallelism = Limit },
            async (pair, token) => results[pair.Index] = await _call(pair.Item, token));
        return results;
    }

    /// <summary>The platform's chunks and EnumerableAsyncProcessor.</summary>
    /// <returns>The size of each batch.</returns>
    [Benchmark]
    [BenchmarkCategory(Lists)]
    public Task<int[]> EnumerableProcessor() => AsyncProcessor.RunAsync(_source.Chunk(BatchSize), Limit, _call);

    /// <summary>Weir's stream over an asynchronous source, summed.</summary>
    [Benchmark]
    [BenchmarkCategory(Streams)]
    public async Task<int> BatchParallelStream() => await _source.ToAsyncEnumerable().BatchParallelStreamAsync(BatchSize, _call, Options).SumAsync();

    /// <summary>The platform's chunks of an asynchronous source and its parallel loop, summed.</summary>
    [Benchmark(Baseline = true)]
    [BenchmarkCategory(Streams)]
    public async Task<int> ParallelForEachAsync_Stream()
    {
        int sum = 0;
        await Parallel.ForEachAsync(
            _source.ToAsyncEnumerable().Chunk(BatchSize),
            new ParallelOptions { MaxDegreeOfParallelism = Limit },
            async (batch, token) => Interlocked.Add(ref sum, await _call(batch, token)));
        return sum;
    }

    /// <summary>The platform's chunks of an asynchronous source and EnumerableAsyncProcessor, summed.</summary>
    [Benchmark]
    [BenchmarkCategory(Streams)]
    public async Task<int> EnumerableProcessor_Stream() =>
        await AsyncProcessor.Stream(_source.ToAsyncEnumerable().Chunk(BatchSize), Limit, _call).SumAsync();

    private protected override void Prepare(CallCounter? counter)
    {
        _source = Enumerable.Range(1, N);
        _call = CallCounter.Around<IReadOnlyList<int>, ValueTask<int>>(counter, static async (batch, token) =>
        {
            await Task.Delay(5, token);
            return batch.Count;
        });
    }

    private protected override long? ExpectedCalls(string category) => (N + BatchSize - 1) / BatchSize;
}
