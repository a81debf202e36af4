using Weir.Lab.Formatting;
using Weir.Lab.Report.Tables;
using Weir.Lab.Results;
using Weir.Lab.Statistics;

namespace Weir.Lab.Report.Writing;

/// <summary>Writes a result for people at a terminal, or for a file that people read.</summary>
internal static class ResultText
{
    private const int MostSentences = 4;

    /// <summary>Writes it, without the single rounds.</summary>
    public static void Write(ResultFile result, TextWriter output, TextStyle style) => Of(result).Write(output, style);

    /// <summary>What it says, without the single rounds.</summary>
    public static TextReport Of(ResultFile result) => new($"weir {result.Command}   {result.Work}")
    {
        Groups =
        [
            [
                ("machine", Text(result.Machine)),
                .. result.Machine.Variables.Concat(result.Settings).Select(static s => (s.Key, s.Value)),
                .. result.Source is { } source ? [("commit", source.Text)] : Array.Empty<(string, string)>(),
                .. result.Partial ? [("partial", "true")] : Array.Empty<(string, string)>(),
            ],
        ],
        Tables = ResultTables.Summary(result),
        Lines = [.. Sentences(result)],
    };

    /// <summary>The machine on one line.</summary>
    public static string Machine(MachineRecord machine) => $"machine={Text(machine)}";

    /// <summary>The verdicts and findings, a sentence each.</summary>
    public static IEnumerable<string> Sentences(ResultFile result)
    {
        // Many comparisons are easier to read as a table.
        if (result.Comparisons.Count <= MostSentences)
        {
            foreach (ComparisonRecord comparison in result.Comparisons)
            {
                yield return $"VERDICT  {Sentence(comparison)}";
            }
        }

        foreach (string line in Sentences(result.Findings))
        {
            yield return line;
        }
    }

    /// <summary>Findings, a sentence each.</summary>
    public static IEnumerable<string> Sentences(IEnumerable<Finding> findings) => findings.Select(static finding => finding.Level switch
    {
        FindingLevel.Invalid => $"INVALID  {finding.Text}",
        FindingLevel.Doubt => $"!        {finding.Text}",
        _ => $"note     {finding.Text}",
    });

    /// <summary>A comparison as a sentence.</summary>
    public static string Sentence(ComparisonRecord c) => FormattableString.Invariant(
        $"{c.Arm} {Verb(c.Verdict)} {c.Against}: {c.Ratio:0.000}x [{c.Interval}], p = {Numbers.Short(c.P)} ({(1 - c.Alpha) * 100:0.##} % interval, margin ")
            + FormattableString.Invariant($"{c.Margin * 100:0.#} %, alpha {c.Alpha * 100:0.#} %)")
        + (c.Note is null ? "" : "; " + c.Note);

    private static string Text(MachineRecord machine) =>
        $"{machine.Cores} cores, {machine.Cpu}, {machine.Os}, {machine.Architecture}; .NET {machine.Dotnet}, {machine.Gc} GC; hash {machine.Hash}";

    private static string Verb(Verdict verdict) =>
        $"is {VerdictWords.Of(verdict)} {verdict switch { Verdict.Equivalent => "to", Verdict.Inconclusive => "against", _ => "than" }}";
}
