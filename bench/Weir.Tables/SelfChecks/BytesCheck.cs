namespace Weir.Tables.SelfChecks;

/// <summary>Whether <c>weir compare</c> finds one object more in each comparison, and none where there is none, beside busy neighbours.</summary>
/// <param name="command">Runs it.</param>
/// <param name="runs">How many comparisons of each kind are made.</param>
internal sealed class BytesCheck(KeptRuns command, int runs)
{
    // It ends when it is decided: after two pairs of processes, which start beside the neighbours.
    private static readonly string[] How = ["--figures", "bytes", "--within", "45s"];

    private static readonly string[] Same = ["compare", .. WeirCommand.Twice(nameof(PairedMethods.Allocate)), .. How];

    private static readonly string[] More =
        ["compare", .. WeirCommand.Both(nameof(PairedMethods.Allocate), nameof(PairedMethods.AllocateOneMore)), .. How];

    /// <summary>Makes the comparisons in turns.</summary>
    /// <exception cref="InvalidOperationException">The command came to no result.</exception>
    public async Task<CheckSection> RunAsync(CancellationToken cancellationToken)
    {
        (IReadOnlyList<ResultFile> same, IReadOnlyList<ResultFile> more) = await command.InTurnsAsync(
            runs, Neighbours.Usual, ("bytes-same", Same), ("bytes-more", More), Said, cancellationToken);
        return Section(same, more);
    }

    internal static CheckSection Section(IReadOnlyList<ResultFile> same, IReadOnlyList<ResultFile> more) => new(
        Invariant($"of {more.Count} comparisons with a method that allocates one small object more, each is MORE by exactly ")
            + Invariant($"{PairedMethods.BytesOfOneMore} bytes; of {same.Count} comparisons of the same method, each is EQUIVALENT, exactly."),
        "| command | MORE | LESS | EQUIVALENT | INCONCLUSIVE | exact | bytes more | seconds: median | most |\n|---|---|---|---|---|---|---|---|---|\n"
            + Row(Same, same) + Row(More, more)
            + Invariant($"\nEach comparison runs the command beside {Neighbours.Usual} busy threads of another process, on {Environment.ProcessorCount} ")
            + "processors. Bytes are exact if all rounds have the same.\n",
        same.All(static r => IsExact(r, Verdict.Equivalent, 0)) && more.All(static r => IsExact(r, Verdict.More, PairedMethods.BytesOfOneMore)),
        NeedsQuiet: !same.Any(static r => IsWrong(r, Verdict.Equivalent, 0)) && !more.Any(static r => IsWrong(r, Verdict.More, PairedMethods.BytesOfOneMore)));

    private static string Said(ResultFile result) => Of(result) is { } c ? $"{c.Verdict}, {c.Interval}" : "nothing compared";

    private static ComparisonRecord? Of(ResultFile result) => result.Comparisons.FirstOrDefault(static c => c.Figure == ComparedFigure.Bytes);

    private static bool IsExact(ResultFile result, Verdict verdict, double more) =>
        Of(result) is { Interval: "exact" } c && c.Verdict == verdict && Math.Abs(DifferenceOf(c) - more) < 0.5;

    // Decided, and not as it is. Where the time was up, a quieter machine has more of it.
    private static bool IsWrong(ResultFile result, Verdict verdict, double more) =>
        Of(result) is { } c && c.Verdict != Verdict.Inconclusive && !IsExact(result, verdict, more);

    private static double DifferenceOf(ComparisonRecord c) => (c.Value - c.AgainstValue).GetValueOrDefault(double.NaN);

    private static string Row(IReadOnlyList<string> arguments, IReadOnlyList<ResultFile> results)
    {
        ComparisonRecord[] all = [.. results.Select(Of).OfType<ComparisonRecord>()];
        int Count(Verdict verdict) => all.Count(c => c.Verdict == verdict);
        string more = all.Length == 0 ? "none" : Invariant($"{all.Min(DifferenceOf):0.##} to {all.Max(DifferenceOf):0.##}");
        return Invariant($"| `{WeirCommand.Text(arguments)}` | {Count(Verdict.More)} | {Count(Verdict.Less)} | {Count(Verdict.Equivalent)} | ")
            + Invariant($"{Count(Verdict.Inconclusive)} | {all.Count(static c => c.Interval == "exact")} | {more} | ")
            + Invariant($"{Spread.Of(results.Select(static r => r.Seconds)).Median:0} | {results.Max(static r => r.Seconds):0} |\n");
    }
}
