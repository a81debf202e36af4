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
        bool isFalse = same.Any(Fails);
        return new CheckSection(
            Invariant($"of {same.Count} gates of the same code none fails; of {longer.Count} gates of code that is 5 % longer, each fails or prints the ")
                + "smallest change that it would have found.",
            "| command | fails | undecided, with a smallest change | neither | smallest change: from | to | seconds: median | most "
                + "|\n|---|---|---|---|---|---|---|---|\n"
                + Row(Same, same) + Row(Longer, longer)
                + Invariant($"\nEach gate runs beside {Neighbours.Usual} busy threads of another process, on {Environment.ProcessorCount} processors. The ")
                + "smallest change is that of the figure (rate or p25) which could have found less; of gates that fail, it is not asked for. "
                + Invariant($"No false alarm in {same.Count} gates shows little: `GatePassesTests` simulates thousands on recorded noise.\n"),
            !isFalse && longer.All(static r => Fails(r) || SmallestOf(r) is not null),
            NeedsQuiet: !isFalse);
    }

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
