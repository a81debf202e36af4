namespace Weir.Lab.Suites;

/// <summary>The published baseline of the suite Batching: the same items without batches, a delay of 5 ms each.</summary>
/// <remarks>It waits for 5,000 delays where a batch of 100 waits for 50, so it is compared only with peers that wait as often.</remarks>
[Iterations(most: 6, mostWarmUps: 2)]
[SuiteInfo(
    120,
    "Published suite: Batching, individual items",
    "The pace of Parallel.ForEachAsync (the timer's floor) for 5,000 delays with 32 in flight, as on the 32 processors of the published tables, with less "
        + "memory.",
    OnlyByName = true)]
public class BatchingIndividualItemsBenchmarks : Suite
{
    private const int Limit = 32;

    private static readonly ParallelRunOptions Options = new() { MaxDegreeOfParallelism = Limit };

    private IEnumerable<int> _source = [];
    private ItemCall _call = null!;

    public override int N { get; set; } = 5_000;

    internal override IEnumerable<Goal> Goals =>
    [
        Goal.TimeRatio(nameof(Baseline_IndividualItems), nameof(ParallelForEachAsync), 1.03),
        Goal.BytesRatio(nameof(Baseline_IndividualItems), nameof(ParallelForEachAsync), 1.0),
    ];

    /// <summary>Weir; the name is the published one.</summary>
    /// <returns>A 1 for each item.</returns>
    [Benchmark]
    public Task<List<int>> Baseline_IndividualItems() => _source.SelectParallelAsync(_call, Options);

    /// <summary>The platform's own parallel loop.</summary>
    /// <returns>A 1 for each item.</returns>
    [Benchmark(Baseline = true)]
    public Task<int[]> ParallelForEachAsync() => ForEachAsync.RunAsync(_source, N, Limit, _call);

    /// <summary>EnumerableAsyncProcessor.</summary>
    /// <returns>A 1 for each item.</returns>
    [Benchmark]
    public Task<int[]> EnumerableProcessor() => AsyncProcessor.RunAsync(_source, Limit, _call);

    private protected override void Prepare(CallCounter? counter)
    {
        _source = Enumerable.Range(1, N);
        _call = CallCounter.Around<int, ValueTask<int>>(counter, static async (_, token) =>
        {
            await Task.Delay(5, token);
            return 1;
        });
    }
}
