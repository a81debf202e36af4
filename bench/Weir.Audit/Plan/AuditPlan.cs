namespace Weir.Audit.Plan;

/// <summary>Which faults happen in a round. The same seed gives the same faults for the same participants, however many rounds there are.</summary>
internal static class AuditPlan
{
    private const int MostFaults = 3;
    private const int MostPercent = 100;
    private const int LeastAway = 20;
    private const int MostAway = 1000;
    private const int LeastStall = 200;

    /// <summary>Longer than a lease: who comes back after that works on what others have meanwhile.</summary>
    private const int MostStall = 4000;

    /// <summary>Makes the plan of a round in which a worker is killed when everything is published, or nothing happens: the two in turns.</summary>
    /// <param name="seed">The seed of the audit.</param>
    /// <param name="round">The number of the round, from 1.</param>
    /// <param name="workers">The names of the workers.</param>
    /// <returns>One fault, or none.</returns>
    public static IReadOnlyList<PlannedFault> OfKills(int seed, int round, IReadOnlyList<string> workers)
    {
        SeededRandom random = new(((long)seed << 32) + round);
        string worker = workers[(int)(random.NextDouble() * workers.Count)];
        return round % 2 == 1 ? [] : [new PlannedFault(MostPercent, worker, FaultKind.Kill, LeastAway)];
    }

    /// <summary>Makes the plan of a round in which everything can happen.</summary>
    /// <param name="seed">The seed of the audit.</param>
    /// <param name="round">The number of the round, from 1.</param>
    /// <param name="targets">The participants.</param>
    /// <returns>One to three faults, in the order of their moments.</returns>
    public static IReadOnlyList<PlannedFault> Of(int seed, int round, IReadOnlyList<AuditTarget> targets)
    {
        SeededRandom random = new(((long)seed << 32) + round);
        int From(int least, int most) => least + (int)(random.NextDouble() * (most - least + 1));
        int count = From(1, MostFaults);
        List<PlannedFault> faults = [];
        for (int i = 0; i < count; i++)
        {
            AuditTarget target = targets[From(0, targets.Count - 1)];
            FaultKind kind = target.Kinds[From(0, target.Kinds.Count - 1)];
            int percent = From(1, MostPercent);
            faults.Add(new PlannedFault(percent, target.Name, kind, kind switch
            {
                FaultKind.Stall => From(LeastStall, MostStall),
                FaultKind.Kill => From(LeastAway, MostAway),
                _ => 0,
            }));
        }

        return [.. faults.OrderBy(static f => f.Percent)];
    }
}
