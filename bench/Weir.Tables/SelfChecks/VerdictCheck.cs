namespace Weir.Tables.SelfChecks;

/// <summary>
/// How often the <c>weir compare</c> command reports a difference between identical things, and misses one that is a tenth slower, beside busy neighbours or
/// alone.
/// </summary>
/// <param name="command">Runs <c>compare</c>.</param>
/// <param name="goal">What is compared, and what should come out.</param>
/// <param name="runs">How many comparisons of the same work are made, and how many of longer work: of all pairs together.</param>
internal sealed class VerdictCheck(KeptRuns command, VerdictGoal goal, int runs)
{
    // More of them, and nothing is shown of a machine that does nothing else.
    private const double MostUnquiet = 0.25;

    /// <summary>The default number of comparisons of each kind.</summary>
    public const int UsualRuns = 20;

    /// <summary>Makes the comparisons in turns.</summary>
    /// <exception cref="InvalidOperationException">The command came to no result.</exception>
    public async Task<CheckSection> RunAsync(CancellationToken cancellationToken)
    {
        (VerdictPair Pair, List<KeptVerdict> Same, List<KeptVerdict> Slower)[] all =
            [.. goal.Pairs.Select(static p => (p, new List<KeptVerdict>(), new List<KeptVerdict>()))];
        for (int i = 1; i <= Math.Max(1, runs / all.Length); i++)
        {
            foreach ((VerdictPair pair, List<KeptVerdict> same, List<KeptVerdict> slower) in all)
            {
                same.Add(await CompareAsync($"{goal.Name}{pair.Name}same", pair.Same, i, cancellationToken));
                slower.Add(await CompareAsync($"{goal.Name}{pair.Name}slower", pair.Slower, i, cancellationToken));
            }
        }

        return Section(goal, [.. all.Select(static a => (a.Pair, (IReadOnlyList<KeptVerdict>)a.Same, (IReadOnlyList<KeptVerdict>)a.Slower))]);
    }

    internal static CheckSection Section(
        VerdictGoal goal, IReadOnlyList<(VerdictPair Pair, IReadOnlyList<KeptVerdict> Same, IReadOnlyList<KeptVerdict> Slower)> all)
    {
        KeptVerdict[] same = [.. all.SelectMany(static a => a.Same)];
        KeptVerdict[] slower = [.. all.SelectMany(static a => a.Slower)];
        KeptVerdict[] each = [.. same, .. slower];
        int wrong = Count(same, Verdict.Faster) + Count(same, Verdict.Slower) + Count(slower, Verdict.Faster);
        (string text, bool isMet) = GoalOf(
            goal, same.Length, Count(same, Verdict.Equivalent), slower.Length, Count(slower, Verdict.Slower), wrong,
            each.Max(static v => v.Seconds));
        string table = "| command | FASTER | SLOWER | EQUIVALENT | INCONCLUSIVE | median ratio | widest interval | looks | seconds: median | most "
            + "|\n|---|---|---|---|---|---|---|---|---|---|\n"
            + string.Concat(all.Select(static a => Row(a.Pair.Same, a.Same) + Row(a.Pair.Slower, a.Slower)))
            + Invariant($"\nSeconds of each: {string.Join("; ", all.SelectMany(static a => new[] { Times(a.Same), Times(a.Slower) }))}. Measured from ")
            + Invariant($"{each.Min(static v => v.StartedAt):u} to {each.Max(static v => v.StartedAt):u}.\n\n")
            + Invariant($"Each comparison runs the command, in separate processes, beside {goal.Neighbours} busy threads of another process, on ")
            + Invariant($"{Environment.ProcessorCount} processors. Pairs of processes take turns (ABBA) in rounds of 100 ms and end when the ")
            + "comparison is decided. At most three looks share an alpha of 1 %, so all looks together report a false difference in at most 1 of 100 "
            + "comparisons. Interval and test have this level ([how](../reference/how-the-lab-measures.md#comparing-in-turns)). "
            + Invariant($"{each.Count(static v => v.IsUnquiet)} of {each.Length} found the machine unquiet. ")
            + (wrong > 0 ? ""
                : Invariant($"No error in {each.Length} comparisons shows that fewer than {Math.Min(1, 3.0 / each.Length):P0} are wrong (95 %). "))
            + "A thousand simulated comparisons show the 1 of 100 (`TurnsComparisonTests`).\n";
        return new CheckSection(
            text,
            table,
            isMet,
            goal.Neighbours > 0 || each.Count(static v => v.IsUnquiet) <= MostUnquiet * each.Length);
    }

    /// <summary>The goal in words, and whether it is met.</summary>
    /// <param name="goal">What should come out.</param>
    /// <param name="same">How many comparisons of the same work there are.</param>
    /// <param name="equivalent">How many of them say so.</param>
    /// <param name="slower">How many comparisons of longer work there are.</param>
    /// <param name="found">How many of them say so.</param>
    /// <param name="wrong">How many of all say what is not so.</param>
    /// <param name="seconds">How long the longest took.</param>
    internal static (string Text, bool IsMet) GoalOf(VerdictGoal goal, int same, int equivalent, int slower, int found, int wrong, double seconds)
    {
        int leastFound = (int)Math.Ceiling(goal.LeastFound * slower);
        int leastEquivalent = (int)Math.Ceiling(goal.LeastEquivalent * same);
        return (
            Invariant($"of {slower} comparisons with work that is a tenth longer, at least {leastFound} are SLOWER; of {same} comparisons of the ")
                + Invariant($"same work, at least {leastEquivalent} are EQUIVALENT and none is FASTER or SLOWER; none takes more than {goal.MostSeconds:0} s."),
            found >= leastFound && equivalent >= leastEquivalent && wrong == 0 && seconds <= goal.MostSeconds);
    }

    private async Task<KeptVerdict> CompareAsync(string name, IReadOnlyList<string> arguments, int number, CancellationToken cancellationToken) =>
        KeptVerdict.Of(await command.RunAsync(
            Invariant($"{name}-{number:00}"), goal.Neighbours, arguments, static r => Said(KeptVerdict.Of(r)), cancellationToken));

    private static string Said(KeptVerdict verdict) =>
        verdict.Comparison is { } said ? Invariant($"{said.Verdict}, {said.Ratio:0.000} [{said.Interval}]") : "nothing compared";

    private static string Row(IReadOnlyList<string> arguments, IReadOnlyList<KeptVerdict> verdicts)
    {
        ComparisonRecord[] compared = [.. verdicts.Select(static v => v.Comparison).OfType<ComparisonRecord>()];
        string widest = compared.MaxBy(static c => c.High / c.Low)?.Interval ?? "none";
        string ratio = compared.Length > 0 ? Invariant($"{Spread.Of(compared.Select(static c => c.Ratio)).Median:0.000}") : "none";
        double Median(Func<KeptVerdict, double> figure) => Spread.Of(verdicts.Select(figure)).Median;
        return Invariant(
            $"| `{WeirCommand.Text(arguments)}` | {Count(verdicts, Verdict.Faster)} | {Count(verdicts, Verdict.Slower)} | ")
                + Invariant(
                    $"{Count(verdicts, Verdict.Equivalent)} | {Count(verdicts, Verdict.Inconclusive)} | {ratio} | ")
                        + Invariant($"{widest.Replace("..", " to ", StringComparison.Ordinal)} | {Looks(verdicts)} | {Median(static v => v.Seconds):0.0} | ")
                        + Invariant($"{verdicts.Max(static v => v.Seconds):0.0} |\n");
    }

    // Such as "1 (13), 2 (5), 3 (2)".
    private static string Looks(IEnumerable<KeptVerdict> verdicts) =>
        string.Join(
            ", ", verdicts.GroupBy(static v => v.Comparison?.Looks ?? 0).OrderBy(static g => g.Key).Select(static g => Invariant($"{g.Key} ({g.Count()})")));

    private static string Times(IEnumerable<KeptVerdict> verdicts) => string.Join(' ', verdicts.Select(static v => Invariant($"{v.Seconds:0}")));

    private static int Count(IEnumerable<KeptVerdict> verdicts, Verdict verdict) => verdicts.Count(v => v.Comparison?.Verdict == verdict);
}
