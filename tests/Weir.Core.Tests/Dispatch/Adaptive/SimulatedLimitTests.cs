using Weir.Core.Dispatch;
using Weir.Limits;

namespace Weir.Core.Tests.Dispatch.Adaptive;

/// <summary>
/// The law in the simulator that docs/results/adaptive.md is made with: a sample of its grid, the cases in which a law is known to collapse, and servers that
/// are drawn at random.
/// </summary>
public class SimulatedLimitTests(ITestOutputHelper output)
{
    private static readonly int[] Seeds = [1, 2];

    public static TheoryData<string> Sample => [.. new[]
    {
        "steady/exponential/16", "steady/log-normal/24", "steady/fixed/4", "steady/bimodal, 0.5 and 5.5/32", "pauses/300 ms every 3 s/24",
        "slower/5 times slower and back/16", "slower, exponential/3 times slower and back, exponential/24", "bad baseline/first 2 s 10 times faster/16",
        "bad baseline/first 2 s 5 times slower/64", "capacity/0.25 of the slots and back/32", "refuses/refuses beyond twice its slots/16", "open/load 0.8/16",
        "open, slower/load 0.3, 3 times slower and back/16", "sharing, callers leave/loses beyond its knee, load 3/8",
    }];

    [Theory(Timeout = 60_000)]
    [MemberData(nameof(Sample))]
    public async Task Law_InASampleOfTheGrid_ReachesTheBestFixedLimit(string name)
    {
        await Task.Yield();
        Judgement verdict = Judged(name);
        Assert.True(verdict.IsMet, $"{name}: {verdict}");
    }

    [Theory(Timeout = 60_000)]
    [InlineData(8)]
    [InlineData(16)]
    [InlineData(24)]
    public async Task Law_ServerThatBecomesThreeTimesSlowerAndComesBack_DoesNotCollapse(int slots)
    {
        await Task.Yield();
        Judgement verdict = Judged($"slower/3 times slower and back/{slots}");
        Assert.InRange(verdict.Goodput, 0.9, 1.05);
        Assert.InRange(verdict.Latency, 0.9, 1.5);
    }

    [Theory(Timeout = 60_000)]
    [InlineData("2 % fail")]
    [InlineData("3 % fail")]
    [InlineData("5 % fail")]
    public async Task Law_FewFailures_CostNothing(string failures)
    {
        await Task.Yield();
        Scenario failing = Find($"failures/{failures}/16");
        double with = Judge.Mean(failing, Seeds, LawKind.Weir)[0].Goodput / (1 - failing.Failures);
        double without = Judge.Mean(failing with { Failures = 0 }, Seeds, LawKind.Weir)[0].Goodput;
        output.WriteLine($"{with:F0} against {without:F0} calls a second");
        Assert.InRange(with / without, 0.95, 1.05);
    }

    [Theory(Timeout = 60_000)]
    [InlineData(16)]
    [InlineData(24)]
    [InlineData(64)]
    public async Task Law_LoadThatGoesFromAThirdToNearlyAll_KeepsTheLatency(int slots)
    {
        await Task.Yield();
        Scenario step = Find($"open step/load 0.3, then 0.95/{slots}");
        double latency = Judge.Mean(step, Seeds, LawKind.Weir)[0].Latency / Scenario.Unit;
        output.WriteLine($"{latency:F1} times the time of a call");
        Assert.InRange(latency, 1, 6);
    }

    [Fact(Timeout = 60_000)]
    public async Task Law_AfterAnythingAtAll_ComesBackWithinThirtySeconds()
    {
        await Task.Yield();
        for (int seed = 1; seed <= 12; seed++)
        {
            Random random = new(seed);
            int slots = new[] { 4, 8, 16, 24, 64 }[random.Next(5)];
            Scenario scenario = new()
            {
                Group = "any", Name = "any", Slots = slots, Service = (Service)random.Next(5),
                Changes =
                [
                    .. Enumerable.Range(0, 10).Select(i => new Scenario.Change(
                        2 * i,
                        Math.Exp((4 * random.NextDouble()) - 2),
                        Math.Max(1, (int)(slots * 2 * random.NextDouble())),
                        Failures: random.Next(3) == 0 ? random.NextDouble() : 0)),
                    new(20, 1, slots, Failures: 0),
                ],
                Judged = [(50, 60)],
            };
            Reached reached = Judge.Mean(scenario, [seed], LawKind.Weir)[0];
            double goodput = reached.Goodput * Scenario.Unit / slots;
            output.WriteLine($"seed {seed}, {slots} slots, {scenario.Service}: {goodput:P0} of the capacity, limit {reached.Limit:F1}");
            Assert.InRange(goodput, 0.8, 1.2);
            Assert.InRange(reached.Limit, 0, (1.8 * slots) + 1);
        }
    }

    /// <summary>More fail than the settings allow, whatever the limit, and so few more that it takes a while to be noticed.</summary>
    [Theory(Timeout = 60_000)]
    [InlineData(0.08, 12)]
    [InlineData(0.1, 6)]
    [InlineData(0.1, 12)]
    [InlineData(0.1, 48)]
    [InlineData(0.15, 12)]
    public async Task Law_FailuresThatNoLowerLimitHelpsAgainst_CostLittle(double failures, int slots)
    {
        await Task.Yield();
        Scenario failing = Find("failures/5 % fail/16") with { Slots = slots, Failures = failures, Judged = [(30, 60)] };
        double with = Judge.Mean(failing, Seeds, LawKind.Weir)[0].Goodput / (1 - failures);
        double without = Judge.Mean(failing with { Failures = 0 }, Seeds, LawKind.Weir)[0].Goodput;
        output.WriteLine($"{with:F0} against {without:F0} calls a second");
        Assert.InRange(with / without, 0.85, 1.05);
    }

    /// <summary>
    /// For 20 s every call failed, at the lowest limit too, so failures were no reason to lower it. Afterwards they are: the server refuses what comes beyond twice
    /// its slots.
    /// </summary>
    [Theory(Timeout = 60_000)]
    [InlineData(6)]
    [InlineData(12)]
    public async Task Law_AfterAnOutage_HeedsFailuresAgain(int slots)
    {
        await Task.Yield();
        Scenario scenario = new()
        {
            Group = "after", Name = "an outage", Slots = slots, RefusesBeyond = 2, Changes = [new(20, Failures: 1), new(40, Failures: 0)], Judged = [(50, 70)],
        };
        Reached reached = Judge.Mean(scenario, Seeds, LawKind.Weir)[0];
        output.WriteLine($"{reached.Goodput * Scenario.Unit / slots:P0} of the capacity, limit {reached.Limit:F1}");
        Assert.InRange(reached.Goodput * Scenario.Unit / slots, 0.85, 1.1);
        Assert.InRange(reached.Limit, slots / 2, 2 * slots);
    }

    [Fact]
    public void Simulation_SameSeed_IsTheSameRun()
    {
        Scenario scenario = Find("steady/exponential/16");
        Reached[] one = Simulation.Run(scenario, LawKind.Weir.Create(3), 3);
        Assert.Equal(one, Simulation.Run(scenario, LawKind.Weir.Create(3), 3));
        Assert.NotEqual(one, Simulation.Run(scenario, LawKind.Weir.Create(4), 4));
    }

    [Theory]
    [InlineData(8, 0.5)]
    [InlineData(16, 1)]
    [InlineData(32, 1)]
    public void Simulation_FixedLimitAtSlots_HasTheThroughputOfTheory(int limit, double fraction)
    {
        // Little: so many calls in flight, each of its own time as long as no other waits.
        Reached reached = Judge.Mean(Find("steady/exponential/16"), Seeds, LawKind.Fixed(limit))[0];
        Assert.Equal(fraction * 16 / Scenario.Unit, reached.Goodput, 0.03 * 16 / Scenario.Unit);
        Assert.Equal(limit, reached.Goodput * reached.Latency, 0.02 * limit);
    }

    private Judgement Judged(string name)
    {
        Judge judge = new(Find(name), Seeds);
        Judgement verdict = judge.Of(LawKind.Weir);
        output.WriteLine($"{name}: {verdict.Goodput:P0} of the goodput and {verdict.Latency:F2} of the latency of {string.Join(" and ", judge.BestLimits)}");
        return verdict;
    }

    private static Scenario Find(string name) => Grid.All.Single(scenario => scenario.Key == name);
}
