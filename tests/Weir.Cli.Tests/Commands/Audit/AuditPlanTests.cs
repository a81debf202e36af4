using Weir.Audit.Plan;

namespace Weir.Cli.Tests.Commands.Audit;

public class AuditPlanTests
{
    private static readonly AuditTarget[] Targets =
    [
        new("publisher", [FaultKind.Kill, FaultKind.Restart, FaultKind.Cut, FaultKind.Stall]),
        new("worker 1", [FaultKind.Kill, FaultKind.Restart, FaultKind.Cut, FaultKind.Stall]),
        new("PostgreSQL", [FaultKind.Kill, FaultKind.Restart, FaultKind.EndSessions]),
    ];

    [Fact]
    public void Of_SameSeed_IsTheSamePlanAndAnotherSeedIsNot()
    {
        Assert.Equal(Texts(7), Texts(7));
        Assert.NotEqual(Texts(7), Texts(8));
    }

    [Fact]
    public void Of_ASeed_IsThisPlanInEveryVersion() =>
        Assert.Equal(
            [
                "connections of publisher stalled at 95 %, for 3835 ms",
                "connections of publisher cut at 10 %; all sessions ended by PostgreSQL at 45 %; PostgreSQL restarted at 46 %",
                "PostgreSQL killed at 43 %, for 236 ms; connections of worker 1 cut at 90 %",
            ],
            Texts(1).Take(3));

    [Fact]
    public void Of_ManyRounds_HitsEverybodyInEveryWayWithinTheBounds()
    {
        PlannedFault[] all = [.. Enumerable.Range(1, 500).SelectMany(static round => AuditPlan.Of(3, round, Targets))];
        Assert.Equal(
            Targets.SelectMany(static t => t.Kinds.Select(kind => (t.Name, kind))).Order(),
            all.Select(static f => (f.Target, f.Kind)).Distinct().Order());
        Assert.All(all, static f => Assert.InRange(f.Percent, 1, 100));
        Assert.All(all.Where(static f => f.Kind == FaultKind.Stall), static f => Assert.InRange(f.Milliseconds, 200, 4000));
        Assert.All(Enumerable.Range(1, 100), static round =>
        {
            IReadOnlyList<PlannedFault> plan = AuditPlan.Of(3, round, Targets);
            Assert.InRange(plan.Count, 1, 3);
            Assert.Equal(plan.OrderBy(static f => f.Percent), plan);
        });
    }

    [Fact]
    public void OfKills_ManyRounds_KillsEachWorkerAndNobodyInBetween()
    {
        string[] workers = ["worker 1", "worker 2"];
        IReadOnlyList<PlannedFault>[] rounds = [.. Enumerable.Range(1, 40).Select(round => AuditPlan.OfKills(5, round, workers))];
        Assert.All(rounds.Where(static (_, i) => i % 2 == 0), Assert.Empty);
        PlannedFault[] kills = [.. rounds.Where(static (_, i) => i % 2 == 1).Select(Assert.Single)];
        Assert.All(kills, static f => Assert.Equal((FaultKind.Kill, 100), (f.Kind, f.Percent)));
        Assert.Equal(workers, kills.Select(static f => f.Target).Distinct().Order());
    }

    private static string[] Texts(int seed) => [.. Enumerable.Range(1, 30).Select(round => string.Join("; ", AuditPlan.Of(seed, round, Targets)))];
}
