namespace Weir.Tables.SelfChecks;

/// <summary>
/// Whether <c>weir gate</c> lets the same code pass beside busy neighbours, and finds code that is 5 % longer or says what it would have found.
/// </summary>
/// <param name="command">Runs it.</param>
/// <param name="runs">How many gates of each kind are made.</param>
internal sealed class GateCheck(KeptRuns command, int runs)
{
    private static readonly string[] Same = ["gate", .. WeirCommand.Twice(nameof(PairedMethods.Compute)), "--within", "60s"];

    private static readonly string[] Longer =
        ["gate", .. WeirCommand.Both(nameof(PairedMethods.Compute), nameof(PairedMethods.ComputeTwentiethLonger)), "--within", "60s"];

    /// <summary>Makes the gates in turns.</summary>
    /// <exception cref="InvalidOperationException">The command came to no result.</exception>
    public async Task<CheckSection> RunAsync(CancellationToken cancellationToken)
    {
        (IReadOnlyList<ResultFile> same, IReadOnlyList<ResultFile> longer) = await command.InTurnsAsync(
            runs, Neighbours.Usual, ("gate-same", Same), ("gate-longer", Longer), Said, cancellationToken);
        return Section(same, longer);
    }

    internal static CheckSection Section(IReadOnlyList<ResultFile> same, IReadOnlyList<ResultFile> longer)
    {
        int alarms = same.Count(Fails);
        (string goal, bool isMet) = GoalOf(
            same.Count, alarms, longer.Count, longer.Count(Fails), longer.Count(static r => !Fails(r) && SmallestOf(r) is not null));
        return new CheckSection(
            goal,
            "| command | fails | undecided, with a smallest change | neither | smallest change: from | to | seconds: median | most "
                + "|\n|---|---|---|---|---|---|---|---|\n"
                + Row(Same, same) + Row(Longer, longer)
                + Invariant($"\nEach gate runs beside {Neighbours.Usual} busy threads of another process, on {Environment.ProcessorCount} processors. The ")
                + "smallest change is that of the figure (rate or p25) which could have found less; of gates that fail, it is not asked for. "
                + Invariant($"No false alarm in {same.Count} gates shows little: `GatePassesTests` simulates thousands on recorded noise.\n"),
            isMet,
            NeedsQuiet: alarms == 0);
    }

    /// <summary>The goal in words, and whether it is met. A gate that finds nothing is of no use, whatever it says that it would have found.</summary>
    /// <param name="same">How many gates of the same code there were.</param>
    /// <param name="alarms">How many of them failed.</param>
    /// <param name="longer">How many gates of longer code there were.</param>
    /// <param name="found">How many of them failed.</param>
    /// <param name="told">How many of the others print what they would have found.</param>
    internal static (string Text, bool IsMet) GoalOf(int same, int alarms, int longer, int found, int told) => (
        Invariant($"of {same} gates of the same code none fails; of {longer} gates of code that is 5 % longer, at least {LeastFound(longer)} ")
            + "fails, and each other one prints the smallest change that it would have found.",
        alarms == 0 && found >= LeastFound(longer) && found + told == longer);

    private static int LeastFound(int longer) => Math.Max(1, (longer + 1) / 2);

    private static string Said(ResultFile result) => Fails(result) ? "fails"
        : SmallestOf(result) is { } change ? Invariant($"undecided, {change * 100:0.#} % would have been found")
        : result.Comparisons.Count == 0 ? "nothing compared" : "passes";

    private static bool Fails(ResultFile result) => result.Comparisons.Any(static c => c.IsWorse);

    // What a gate prints in its notes.
    private static double? SmallestOf(ResultFile result) => result.Comparisons
        .Where(static c => c.Verdict == Verdict.Inconclusive && c.Detectable is not null).Min(static c => c.Detectable);

    private static string Row(IReadOnlyList<string> arguments, IReadOnlyList<ResultFile> results)
    {
        double[] changes = [.. results.Where(static r => !Fails(r)).Select(SmallestOf).OfType<double>()];
        int fails = results.Count(Fails);
        string ends = changes.Length == 0 ? "- | -" : Invariant($"{changes.Min() * 100:0.0} % | {changes.Max() * 100:0.0} %");
        return Invariant($"| `{WeirCommand.Text(arguments)}` | {fails} | {changes.Length} | {results.Count - fails - changes.Length} | {ends} | ")
            + Invariant($"{Spread.Of(results.Select(static r => r.Seconds)).Median:0} | {results.Max(static r => r.Seconds):0} |\n");
    }
}
