namespace Weir.Cli.Commands.Gate;

/// <summary>A gate over sides that are measured in turns.</summary>
/// <param name="sides">What is compared with what.</param>
/// <param name="options">Margin and level of the whole gate.</param>
/// <param name="within">The time that each group has.</param>
/// <param name="host">Whether there are processes, and what stops them.</param>
/// <param name="progress">Is told of each round.</param>
internal sealed class GateRun(Sides sides, ComparisonOptions options, TimeSpan within, WeirHost host, RunProgress progress)
{
    private readonly List<ResultFile> _passes = [];

    /// <summary>Measures and decides.</summary>
    public async Task<ResultFile> MeasureAsync(IReadOnlyList<string> arguments)
    {
        GatePasses passes = new(
            async (groups, time, level) =>
            {
                Sides own = sides with { Groups = [.. groups.Select(i => sides.Groups[i])] };
                ResultFile pass =
                    await new InTurns(own, GateCommand.PlanOf(sides.Settings.Rounds, time), level, host, progress).MeasureAsync(arguments);
                _passes.Add(pass);
                return [.. GroupsOf(own, pass)];
            },
            options,
            within);
        IReadOnlyList<GateGroup> found = await passes.RunAsync(sides.Groups.Count, host.Stop);
        return _passes[0] with
        {
            Seconds = _passes.Sum(static p => p.Seconds),
            Partial = _passes.Any(static p => p.Partial),
            Arms = [.. found.SelectMany(static g => g.Arms)],
            Comparisons = [.. found.SelectMany(static g => g.Comparisons).Select(WithWhatWasPossible)],
            Findings = [.. Finding.EachOnce(_passes.SelectMany(static p => p.Findings))],
        };
    }

    private static IEnumerable<GateGroup> GroupsOf(Sides own, ResultFile pass)
    {
        int arm = 0;
        foreach (int size in own.Groups.Select(static g => g.Count))
        {
            ArmRecord[] arms = [.. pass.Arms.Skip(arm).Take(size)];
            arm += size;
            yield return new GateGroup(
                arms, [.. pass.Comparisons.Where(c => c.Against == arms[0].Label && arms.Skip(1).Any(a => a.Label == c.Arm))]);
        }
    }

    // An undecided gate says what it could have seen.
    private static ComparisonRecord WithWhatWasPossible(ComparisonRecord c) =>
        c is { Verdict: Verdict.Inconclusive, Figure: not ComparedFigure.Bytes, Detectable: { } change }
            ? c with
            {
                Note = (c.Note is { } note ? note + "; " : "") + FormattableString.Invariant($"a change of {change * 100:0.#} % would have been found"),
            }
            : c;
}
