namespace Weir.Cli.Commands.Compare;

/// <summary>Measures and compares, group by group.</summary>
/// <param name="sides">What is compared with what.</param>
/// <param name="plan">How each group is measured.</param>
/// <param name="comparison">Margin and level of all comparisons together.</param>
/// <param name="host">Whether there are processes, and what stops them.</param>
/// <param name="progress">Is told of each round.</param>
internal sealed class InTurns(Sides sides, TurnPlan plan, ComparisonOptions comparison, WeirHost host, RunProgress progress)
{
    // Bonferroni: false differences are no more frequent than with a single comparison. Holm's correction is not possible here, because each group ends before
    // the next is measured.
    private readonly ComparisonOptions _each = comparison with { Alpha = comparison.Alpha / sides.Comparisons };

    /// <summary>Measures and compares.</summary>
    public async Task<ResultFile> MeasureAsync(IReadOnlyList<string> arguments)
    {
        long began = Stopwatch.GetTimestamp();
        WorkerOrder[] orders = [.. sides.Groups.SelectMany(static g => g)
            .Select(s => sides.Settings.Order(s.Workload, s.Workload.Workers ?? sides.Settings.Workers[0], rounds: 1)
                .With(run => run with { Workload = s.Name }))];
        double clock = Clock.MeasureReadCost();
        Turns[] turns = [.. sides.Groups.Select(_ => new Turns(host, plan, _each, clock, progress))];
        ResultFile result = await new WorkerArms(host, "compare", arguments).MeasureInTurnsAsync(
            orders,
            sides.Settings,
            all => ArmGroups.MeasureAsync(
                all,
                [.. sides.Groups.Select(static g => g.Count)],
                (group, own) => turns[group].MeasureAsync(own, group == 0 ? began : Stopwatch.GetTimestamp()),
                host.Stop));
        return result with
        {
            Comparisons = [.. Comparisons(result, turns)],
            Findings = [.. result.Findings, .. Finding.SharedAlpha(sides.Comparisons, comparison.Alpha), .. Missing()],
        };
    }

    private Finding[] Missing() => sides.InOneOnly.Count == 0 ? []
        : [new Finding(
            FindingLevel.Note, $"Not compared, because only one of the two builds has them: {string.Join(", ", sides.InOneOnly)}.", FindingKind.Difference)];

    private IEnumerable<ComparisonRecord> Comparisons(ResultFile result, Turns[] turns)
    {
        int arm = 0;
        for (int group = 0; group < turns.Length; group++)
        {
            ArmRecord against = result.Arms[arm++];
            foreach (ArmRecord candidate in result.Arms.Skip(arm).Take(sides.Groups[group].Count - 1))
            {
                arm++;
                foreach (ComparisonRecord compared in Comparing.Figures(
                    candidate, against, _each, result.Machine.ClockNs, turns[group].Looks, turns[group].Share))
                {
                    yield return compared;
                }
            }
        }
    }
}
