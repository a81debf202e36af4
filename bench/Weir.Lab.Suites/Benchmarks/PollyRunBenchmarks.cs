namespace Weir.Lab.Suites;

/// <summary>1,000 items with all policies: those of a run, and a pipeline of Polly's around each call of <c>Parallel.ForEachAsync</c>.</summary>
[SuiteInfo(
    71,
    "Policies of a run, beside Polly in Parallel.ForEachAsync",
    "Less time. With a time limit, an item of a run has a token of its own, which its code may keep; a pipeline takes its token back.",
    Set = SuiteSet.Resilience)]
public class PollyRunBenchmarks : ItemSuite
{
    private readonly ResiliencePipeline _pipeline = PollyPipelines.All();
    private readonly ParallelRunOptions _options = Chains.Run(8);

    /// <summary>Whether each call completes at once, or after a yield.</summary>
    [Params(false, true)]
    public bool Yields { get; set; }

    internal override IEnumerable<Goal> Goals =>
    [
        Goal.TimeRatio(nameof(Run_Weir), nameof(ForEachAsync_Polly), 1),
    ];

    private protected override int Limit => 8;

    /// <summary>The platform's loop, with a pipeline around each call.</summary>
    [Benchmark(Baseline = true)]
    public async Task<int[]> ForEachAsync_Polly()
    {
        int[] results = new int[N];
        ItemCall call = Call;
        await Parallel.ForEachAsync(Items, new ParallelOptions { MaxDegreeOfParallelism = Limit }, async (item, token) =>
            results[item - 1] = await _pipeline.ExecuteAsync(static (state, token) => state.call(state.item, token), (call, item), token));
        return results;
    }

    /// <summary>The policies of the pipeline as options of the run.</summary>
    [Benchmark]
    public Task<List<int>> Run_Weir() => Items.SelectParallelAsync(Call, _options);

    private protected override ItemCall MakeCall() => Yields ? ItemCalls.Yielding : ItemCalls.Light;
}
