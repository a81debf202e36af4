using System.Text.RegularExpressions;
using Weir.Cli.Commands.Compare;

namespace Weir.Tables.SelfChecks;

/// <summary>Whether stored results of the same code, compared in pairs as <c>weir compare a.json b.json</c> does, are ever called different.</summary>
/// <param name="command">Runs it.</param>
/// <param name="runs">How many results there are at least; every other one is measured beside neighbours. All that are kept count.</param>
internal sealed partial class StoredCheck(KeptRuns command, int runs)
{
    private const string Prefix = "stored-";

    // Every other result is measured beside neighbours, so both are not in a quarter of the pairs.
    private const double LeastEquivalent = 0.2;

    private static readonly string[] Arguments =
    [
        "run", "--assembly", WeirCommand.UserAssembly, "--method", $"{nameof(PairedMethods)}.{nameof(PairedMethods.Compute)}", "--workers", "1",
        "--processes", "6", "--rounds", "12", "--duration", "200ms",
    ];

    /// <summary>Measures what is missing, and compares all.</summary>
    /// <exception cref="InvalidOperationException">The command came to no result.</exception>
    public async Task<CheckSection> RunAsync(CancellationToken cancellationToken)
    {
        for (int i = 1; i <= runs; i++)
        {
            await command.RunAsync(
                Invariant($"{Prefix}{i:00}"), i % 2 == 0 ? Neighbours.Usual : 0, Arguments,
                static r => r.IsOfAnUnquietMachine ? "the machine was not quiet" : "measured", cancellationToken);
        }

        return Section(command.All(Prefix, Arguments));
    }

    internal static CheckSection Section(IReadOnlyList<ResultFile> all)
    {
        ResultFile[] ordered = [.. all.OrderBy(static r => r.StartedAt)];
        ComparisonRecord[] compared =
        [
            .. from b in Enumerable.Range(0, ordered.Length)
               from a in Enumerable.Range(0, b)
               from c in ResultComparing.Compare(("A", ordered[a]), ("B", ordered[b]), new ComparisonOptions(), [], []).Comparisons
               select c,
        ];
        ComparisonRecord[] rates = [.. compared.Where(static c => c.Figure == ComparedFigure.Rate)];
        ComparisonRecord[] bytes = [.. compared.Where(static c => c.Figure == ComparedFigure.Bytes)];
        int wrong = compared.Count(static c => c.Verdict is not (Verdict.Equivalent or Verdict.Inconclusive));
        int days = ordered.Select(static r => DateOnly.FromDateTime(r.StartedAt.UtcDateTime)).Distinct().Count();
        string reasons = string.Concat(rates.Where(static c => c.Verdict == Verdict.Inconclusive).GroupBy(ReasonOf).OrderByDescending(static g => g.Count())
            .Select(static g => Invariant($"| {g.Key} | {g.Count()} |\n")));
        (string goal, bool isMet) = GoalOf(rates.Length, ordered.Length, wrong, rates.Count(static c => c.Verdict == Verdict.Equivalent));
        return new CheckSection(
            goal,
            "| figure | pairs | FASTER or MORE | SLOWER or LESS | EQUIVALENT | INCONCLUSIVE |\n|---|---|---|---|---|---|\n" + Row("rate", rates)
                + Row("bytes", bytes)
                + "\n| why the rate is INCONCLUSIVE | pairs |\n|---|---|\n" + (reasons.Length > 0 ? reasons : "| - | 0 |\n")
                + Invariant($"\nEach result is `{WeirCommand.Text(Arguments)}`, every other one beside {Neighbours.Usual} busy threads of another process; ")
                + Invariant($"they are compared as `weir compare a.json b.json` does. Measured on {days} {(days == 1 ? "day" : "days")}")
                + (ordered.Length == 0 ? ".\n" : Invariant($", from {ordered[0].StartedAt:u} to {ordered[^1].StartedAt:u}.\n")),
            isMet,
            NeedsQuiet: false);
    }

    /// <summary>The goal in words, and whether it is met. Comparisons that decide nothing are never wrong, so some must be decided.</summary>
    /// <param name="pairs">How many pairs there are.</param>
    /// <param name="results">Of how many results.</param>
    /// <param name="wrong">How many comparisons call something different.</param>
    /// <param name="equivalent">How many say that the rates are the same.</param>
    internal static (string Text, bool IsMet) GoalOf(int pairs, int results, int wrong, int equivalent)
    {
        int least = Math.Max(1, (int)Math.Ceiling(LeastEquivalent * pairs));
        return (
            Invariant($"of all {pairs} pairs of {results} stored results of the same method, none is FASTER or SLOWER, nor MORE or LESS, and the rates of at ")
                + Invariant($"least {least} are EQUIVALENT."),
            wrong == 0 && equivalent >= least);
    }

    // Figures differ from pair to pair; the reason does not.
    private static string ReasonOf(ComparisonRecord c) =>
        c.Note is { } note ? Figures().Replace(note.Split(':')[0], "N") : "the interval is wider than the margin";

    private static string Row(string figure, ComparisonRecord[] all)
    {
        int Count(params Verdict[] verdicts) => all.Count(c => verdicts.Contains(c.Verdict));
        return Invariant($"| {figure} | {all.Length} | {Count(Verdict.Faster, Verdict.More)} | {Count(Verdict.Slower, Verdict.Less)} | ")
            + Invariant($"{Count(Verdict.Equivalent)} | {Count(Verdict.Inconclusive)} |\n");
    }

    [GeneratedRegex(@"\d+(\.\d+)?")]
    private static partial Regex Figures();
}
