namespace Weir.Cli.Commands.Hash;

/// <summary>Decides which conclusions the figures of a run allow.</summary>
internal static class HashVerdicts
{
    /// <summary>From this share of the processors on, the processors limit the rate, not the device.</summary>
    private const double CpuBoundShare = 0.85;

    /// <summary>Below this share of idle time, the machine has no processor left, whichever program uses it.</summary>
    private const double NoIdle = 0.1;

    /// <summary>A device without waiting reads does not limit the rate.</summary>
    private const double FewestWaiting = 0.5;

    private const double NoisyCanary = 1.1;
    private const double WideSpread = 1.5;
    private const int MostNamed = 3;

    // They read and hash on threads of their own, so the pool has no part in it.
    private static readonly string[] OnOwnThreads = [HashRun.Text(HashArm.Sync), HashRun.Text(HashArm.Direct)];

    /// <summary>Adds the verdicts to a result.</summary>
    /// <param name="result">The figures.</param>
    /// <param name="interleaved">Whether the rounds of the arms were measured in turns.</param>
    public static ResultFile Evaluate(ResultFile result, bool interleaved)
    {
        List<Finding> findings = [.. result.Findings, .. RunRecords.Problems(result.Arms)];
        ArmRecord[] measured = [.. result.Arms.Where(static a => a.IsMeasured)];
        if (result.Arms.SelectMany(static a => a.Rounds).Where(static r => !r.Partial).Select(static r => r.Checksum).Distinct().Count() > 1)
        {
            findings.Add(new Finding(FindingLevel.Invalid, "The hashes of the same files differ between rounds.", FindingKind.Rounds));
        }

        if (measured.Length > 0)
        {
            findings.Add(Bound(result, measured));
            findings.AddRange(Depth(measured));
            findings.AddRange(Noise(measured));
        }

        return result with { Findings = findings, Comparisons = Comparisons(result, interleaved) };
    }

    // All arms of one number of workers against the first.
    private static IReadOnlyList<ComparisonRecord> Comparisons(ResultFile result, bool interleaved) => Comparing.All(
        result.Arms.GroupBy(static a => a.Workers).SelectMany(static g => g.Skip(1).Select(arm => (arm, g.First()))),
        new ComparisonOptions(),
        interleaved);

    /// <summary>Why the processors, and not the device, limited the rate of an arm; <see langword="null"/> if they did not.</summary>
    internal static string? CpuBound(ArmRecord arm, int cores)
    {
        double used = arm.Mean(static r => r.Cores) ?? 0;
        if (used >= CpuBoundShare * cores)
        {
            return FormattableString.Invariant($"{used:0.00} of {cores} cores");
        }

        if (IsBoundByOthers(arm, cores))
        {
            double idle = arm.Mean(static r => r.MachineIdle)!.Value;
            return FormattableString.Invariant($"{used:0.00} of {cores} cores, and {idle * 100:0} % of the machine idle; others used the rest");
        }

        return arm.Mean(static r => r.InFlight) is < FewestWaiting and { } waiting
            ? FormattableString.Invariant($"{used:0.00} of {cores} cores, and {waiting:0.0} reads waiting on average")
            : null;
    }

    private static bool IsBoundByOthers(ArmRecord arm, int cores) =>
        (arm.Mean(static r => r.Cores) ?? 0) < CpuBoundShare * cores && arm.Mean(static r => r.MachineIdle) is < NoIdle;

    private static Finding Bound(ResultFile result, ArmRecord[] arms)
    {
        int cores = result.Machine.Cores;
        (ArmRecord Arm, string Why)[] bound = [.. arms.Select(a => (a, Why: CpuBound(a, cores)!)).Where(static b => b.Why is not null)];
        if (bound.Length == 0)
        {
            return new Finding(FindingLevel.Note, "I/O-bound: the device limited the rates.", FindingKind.Bound);
        }

        string which = bound.Length == arms.Length ? "CPU-bound" : $"CPU-bound in {bound.Length} of {arms.Length} arms";
        string why = bound.Length <= MostNamed
            ? string.Join("; ", bound.Select(static b => $"{b.Arm.Label}: {b.Why}"))
            : FormattableString.Invariant(
                $"{bound.Min(static b => b.Arm.Mean(static r => r.Cores)):0.00}..{bound.Max(static b => b.Arm.Mean(static r => r.Cores)):0.00} of {cores} ")
                    + FormattableString.Invariant(
                        $"cores by this process, {bound.Average(static b => b.Arm.Mean(static r => r.MachineIdle) ?? 0) * 100:0} % of the machine idle");
        string arm = bound.Length == arms.Length || bound.Length <= MostNamed ? "" : $" The arms: {string.Join(", ", bound.Select(static b => b.Arm.Label))}.";
        if (bound.Any(b => IsBoundByOthers(b.Arm, cores)))
        {
            return new Finding(FindingLevel.Doubt, $"{which} ({why}). Other programs used the processors, so this is neither an I/O result nor the cost of "
                + $"hashing. Measure it again on a quiet machine.{arm}", FindingKind.Bound);
        }

        return new Finding(FindingLevel.Doubt,
            $"{which} ({why}). This is not an I/O result: it shows the cost of hashing, not the effect of the device or of the way of waiting.{arm}",
            FindingKind.Bound);
    }

    // The number of workers is the requested depth. The depth that the device sees can differ.
    private static IEnumerable<Finding> Depth(ArmRecord[] arms)
    {
        foreach (ArmRecord arm in arms)
        {
            if (arm.Mean(static r => r.Open) is { } open && arm.Max(static r => r.InFlightMax) is { } most && arm.Mean(static r => r.InFlight) is { } waiting
                && open >= 2 && most <= open / 2)
            {
                yield return new Finding(
                    FindingLevel.Note,
                    FormattableString.Invariant(
                        $"{arm.Label}: {open:0.0} files were open on average, but {waiting:0.0} reads waited in the kernel (at most {most:0}): the others ")
                            + (OnOwnThreads.Contains(arm.Name) ? "were being hashed, or waited for a processor."
                                : FormattableString.Invariant($"queued for {arm.Max(static r => r.PoolThreads) ?? 0:0} pool threads or a processor.")));
            }
        }
    }

    private static IEnumerable<Finding> Noise(ArmRecord[] arms)
    {
        double slowest = arms.Max(static a => a.Max(static r => r.CanarySlowness) ?? 1);
        if (slowest > NoisyCanary)
        {
            yield return new Finding(FindingLevel.Doubt, FormattableString.Invariant($"Neighbours were active: the canary took up to {slowest:0.00} times as ")
                + FormattableString.Invariant($"long as on a quiet machine. Trust the sign of a difference, not its size."), FindingKind.Machine);
        }

        (string Label, double Factor)[] wide =
        [
            .. arms.Where(static a => a.Counted.Count > 1)
                .Select(static a => (a.Label, a.Rate().Max / a.Rate().Min))
                .Where(static x => x.Item2 > WideSpread)
                .OrderByDescending(static x => x.Item2),
        ];
        if (wide.Length > 0)
        {
            yield return new Finding(FindingLevel.Doubt, $"The rounds of one arm differ by up to a factor of {Numbers.Short(wide[0].Factor)}: "
                + $"{string.Join(", ", wide.Select(static w => w.Label))}.", FindingKind.Machine);
        }
    }
}
