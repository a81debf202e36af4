namespace Weir.Delivery.Tests.Fleets;

/// <summary>
/// A fleet of a thousand workers on a clock of its own: what is lost, what is done twice, and how long it takes to recover. What happens and to whom is
/// chosen from a seed.
/// </summary>
public sealed class FleetTests
{
    private const int Limit = 300_000;
    private const int Workers = 1000;
    private const int Items = 24_000;

    // The longest pause between two calls of a host to a server that is away.
    private static readonly TimeSpan LongestPause = TimeSpan.FromSeconds(5);

    [Fact(Timeout = Limit)]
    public async Task Trickle_ItemsOneByOne_GoToIdleWorkersAtOnce()
    {
        const int Second = 500;
        await using var fleet = new Fleet(10 * Second, seed: 1);
        await fleet.JoinAsync(Workers);
        for (int i = 0; i < 10; i++)
        {
            int from = i * Second;
            fleet.At(TimeSpan.FromSeconds(i + 1), () => fleet.PublishAsync(from, from + Second, singly: true));
        }

        fleet.At(TimeSpan.FromSeconds(12), fleet.CompleteAsync);
        await fleet.RunAsync();
        AssertNothingLost(fleet);
        Assert.All(fleet.LastEnds, static (end, i) => Assert.InRange(end - TimeSpan.FromSeconds((i / Second) + 1), TimeSpan.Zero, Fleet.Longest + Fleet.Step));
        Report($"{Second} items a second, one by one: each is done {fleet.LastEnds.Select(static (e, i) => e.TotalSeconds - (i / Second) - 1).Max():F1} s "
            + "after it was published at the latest");
    }

    [Fact(Timeout = Limit)]
    public async Task Rebalance_WorkersLeaveAndJoin_NothingIsDoneTwice()
    {
        await using Fleet fleet = await StartAsync(Workers, seed: 2);
        fleet.At(TimeSpan.FromSeconds(2), () => LeaveAsync(fleet, 300));
        fleet.At(TimeSpan.FromSeconds(4), () => fleet.JoinAsync(300));
        await fleet.RunAsync();
        AssertNothingLost(fleet);
        Assert.InRange(fleet.LastEnds.Max(), TimeSpan.Zero, fleet.Bound(Workers - 300));
        Report($"300 of {Workers} workers leave and 300 others join: all done after {fleet.LastEnds.Max().TotalSeconds:F1} s, none twice");
    }

    [Fact(Timeout = Limit)]
    public async Task SlowNode_HoldsUpNothingButItsOwnBatch()
    {
        await using Fleet fleet = await StartAsync(Workers - 1, seed: 3, slowness: 100);
        await fleet.RunAsync();
        AssertNothingLost(fleet);
        TimeSpan[] ends = [.. fleet.LastEnds.Order()];
        Assert.InRange(ends[^(Fleet.BatchSize + 1)], TimeSpan.Zero, fleet.Bound(Workers - 1));
        Assert.InRange(ends[^1], TimeSpan.FromSeconds(50), 100 * Fleet.Longest);
        Report($"one is 100 times slower: its items are done after {ends[^1].TotalSeconds:F1} s, all others after "
            + $"{ends[^(Fleet.BatchSize + 1)].TotalSeconds:F1} s");
    }

    [Fact(Timeout = Limit)]
    public async Task EngineAway_ForAMinute_AllWorkAgainWithinTheLongestPause()
    {
        TimeSpan back = TimeSpan.FromSeconds(62);
        await using Fleet fleet = await StartAsync(Workers, seed: 4);
        fleet.At(TimeSpan.FromSeconds(2), () =>
        {
            fleet.GoAway(TimeSpan.FromSeconds(60));
            return Task.CompletedTask;
        });
        await fleet.RunAsync();
        AssertNothingLost(fleet);
        Assert.All(fleet.Workers, w => Assert.InRange(w.Heard!.Value, back, back + LongestPause + Fleet.Step));
        Assert.All(fleet.Workers, static w => Assert.NotEqual(0, w.Host.Statistics.Faults));
        Assert.InRange(fleet.LastEnds.Max(), back, back + LongestPause + fleet.Bound(Workers));
        Report($"the queue is away for 60 s: the last worker is back {(fleet.Workers.Max(static w => w.Heard!.Value) - back).TotalSeconds:F1} s after it, "
            + $"none twice, {fleet.Workers.Sum(static w => w.Host.Statistics.Faults)} failed calls");
    }

    [Theory(Timeout = Limit)]
    [InlineData(5)]
    [InlineData(6)]
    public async Task Deaths_WithLeases_OthersDoTheItemsWhenTheLeasesEnd(int seed)
    {
        await using Fleet fleet = await StartAsync(Workers, seed);
        var random = new Random(seed);
        for (int i = 0; i < 100; i++)
        {
            fleet.At(Fleet.Step * random.Next(5, 50), () => KillAsync(fleet, random));
        }

        await fleet.RunAsync();
        AssertNothingLost(fleet);
        Assert.NotEmpty(fleet.Orphans);
        TimeSpan longest = fleet.Orphans.Max(o => fleet.LastEnds[o.Key] - o.Value);
        Assert.InRange(longest, Fleet.Lease, Fleet.Lease + Fleet.Longest + (2 * Fleet.Step));
        Report($"100 workers die with {fleet.Orphans.Count} items: the last of them is done {longest.TotalSeconds:F1} s after the death, "
            + $"{fleet.Expected.Count} twice, which were done and not acknowledged");
    }

    [Theory(Timeout = Limit)]
    [InlineData(7)]
    [InlineData(8)]
    public async Task Everything_AtOnce_LosesNothing(int seed)
    {
        await using Fleet fleet = await StartAsync(Workers - 10, seed, slowness: 10, slow: 10);
        var random = new Random(seed);
        for (int i = 0; i < 100; i++)
        {
            fleet.At(Fleet.Step * random.Next(5, 20), () => KillAsync(fleet, random));
        }

        fleet.At(TimeSpan.FromSeconds(2), () => LeaveAsync(fleet, 200));
        fleet.At(TimeSpan.FromSeconds(4), () =>
        {
            fleet.GoAway(TimeSpan.FromSeconds(60));
            return Task.CompletedTask;
        });
        fleet.At(TimeSpan.FromSeconds(66), () => fleet.JoinAsync(200));
        fleet.At(TimeSpan.FromSeconds(66.5), () => KillAsync(fleet, random));
        await fleet.RunAsync();
        AssertNothingLost(fleet);

        // Away, a pause, the work on whoever is left, the lease of whoever died last, and a slow one that comes last.
        TimeSpan most = TimeSpan.FromSeconds(64) + LongestPause + fleet.Bound(Workers - 310) + Fleet.Lease + (10 * Fleet.Longest);
        Assert.InRange(fleet.LastEnds.Max(), TimeSpan.FromSeconds(64), most);
        Report($"all of that at once: all done after {fleet.LastEnds.Max().TotalSeconds:F1} s, {fleet.Expected.Count} of {Items} items twice");
    }

    private static async Task<Fleet> StartAsync(int workers, int seed, double slowness = 1, int slow = 1)
    {
        var fleet = new Fleet(Items, seed);
        await fleet.PublishAsync(0, Items, singly: false);
        await fleet.CompleteAsync();
        await fleet.JoinAsync(slowness > 1 ? slow : 0, slowness);
        await fleet.JoinAsync(workers);
        return fleet;
    }

    private static Task KillAsync(Fleet fleet, Random random)
    {
        FleetWorker[] alive = [.. fleet.Workers.Where(static w => !w.IsDead && !w.IsGone && !w.HasLeft)];
        if (alive.Length > 0)
        {
            fleet.Kill(alive[random.Next(alive.Length)]);
        }

        return Task.CompletedTask;
    }

    private static Task LeaveAsync(Fleet fleet, int count)
    {
        foreach (FleetWorker worker in fleet.Workers.Where(static w => !w.IsDead && w.Slowness <= 1).Take(count))
        {
            worker.Leave();
        }

        return Task.CompletedTask;
    }

    /// <summary>
    /// Each item was processed once, and once more for each time that a worker died when the effect was there and the acknowledgement was not.
    /// </summary>
    private static void AssertNothingLost(Fleet fleet)
    {
        ILookup<int, int> twice = fleet.Expected.ToLookup(static i => i);
        Assert.All(fleet.Counts, (count, item) => Assert.Equal(1 + twice[item].Count(), count));
        Assert.Equal(0, fleet.Queue.Count);
        Assert.All(fleet.Workers, static w => Assert.True(w.IsDead || w.Host.Statistics.State == WorkHostState.Stopped));
    }

    private static void Report(string line) => TestContext.Current.TestOutputHelper?.WriteLine($"{Workers} workers: {line}.");
}
