namespace Weir.Lab.Suites;

/// <summary>A rate that does act: how exact it is on a timer that is coarser than the time between two calls.</summary>
[Iterations(most: 8, mostWarmUps: 2)]
[SuiteInfo(
    50,
    "Rate limit, 1,000 a second",
    "Within 3 % of the rate at a burst that covers a tick of up to 16 ms: 251 items at a burst of 17 take 234 ms, whether one call is in flight or eight; and "
        + "the published one, a burst of 100, 151 ms.",
    Set = SuiteSet.Resilience)]
public class RateLimitBenchmarks : ItemSuite
{
    private ParallelRunOptions _one = null!;
    private ParallelRunOptions _eight = null!;
    private ParallelRunOptions _burst = null!;

    /// <summary>How many items an arm works on.</summary>
    public override int N { get; set; } = 251;

    internal override IEnumerable<Goal> Goals =>
    [
        Goal.TimeWithin(nameof(SelectParallel_OneInFlight), TimeSpan.FromMilliseconds(234), 0.03),
        Goal.TimeWithin(nameof(SelectParallel_EightInFlight), TimeSpan.FromMilliseconds(234), 0.03),
        Goal.TimeWithin(nameof(SelectParallel_BurstOf100), TimeSpan.FromMilliseconds(151), 0.03),
    ];

    private protected override int Limit => 8;

    /// <summary>The usual pacing by hand: a delay of 1 ms between two calls, which takes a tick of the timer.</summary>
    [Benchmark(Baseline = true)]
    public async Task<List<int>> AwaitLoop_DelayBetween()
    {
        List<int> results = new(N);
        foreach (int item in Items)
        {
            if (results.Count > 0)
            {
                await Task.Delay(1);
            }

            results.Add(await Call(item, CancellationToken.None));
        }

        return results;
    }

    /// <summary>Weir, burst 17, limit 1.</summary>
    [Benchmark]
    public Task<List<int>> SelectParallel_OneInFlight() => Items.SelectParallelAsync(Call, _one);

    /// <summary>Weir, burst 17, limit 8.</summary>
    [Benchmark]
    public Task<List<int>> SelectParallel_EightInFlight() => Items.SelectParallelAsync(Call, _eight);

    /// <summary>Weir, burst 100, limit 8.</summary>
    [Benchmark]
    public Task<List<int>> SelectParallel_BurstOf100() => Items.SelectParallelAsync(Call, _burst);

    private protected override ItemCall MakeCall() => ItemCalls.Light;

    private protected override void Prepare(CallCounter? counter)
    {
        base.Prepare(counter);
        _eight = Options with { RateLimit = new RateLimitOptions { TokensPerSecond = 1_000, BurstCapacity = 17 } };
        _one = _eight with { MaxDegreeOfParallelism = 1 };
        _burst = Options with { RateLimit = new RateLimitOptions { TokensPerSecond = 1_000, BurstCapacity = 100 } };
    }
}
