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
    public static void Write(ResultFile result, TextWriter output, TextStyle style)
    {
        output.WriteLine($"weir {result.Command}   {result.Work}");
        output.WriteLine(Machine(result.Machine));
        foreach ((string name, string value) in result.Machine.Variables.Concat(result.Settings))
        {
            output.WriteLine($"{name}={value}");
        }

        if (result.Source is { } source)
        {
            output.WriteLine($"commit={source.Text}");
        }

        if (result.Partial)
        {
            output.WriteLine("partial=true");
        }

        foreach (Table table in ResultTables.Summary(result))
        {
            output.WriteLine();
            TableText.Write(table, output, style);
        }

        output.WriteLine();
        foreach (string line in Sentences(result))
        {
            output.WriteLine(line);
        }
    }

    /// <summary>The machine on one line.</summary>
    public static string Machine(MachineRecord machine) =>
        $"machine={machine.Cores} cores, {machine.Cpu}, {machine.Os}, {machine.Architecture}; .NET {machine.Dotnet}, {machine.Gc} GC; hash {machine.Hash}";

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

        foreach (Finding finding in result.Findings)
        {
            yield return finding.Level switch
            {
                FindingLevel.Invalid => $"INVALID  {finding.Text}",
                FindingLevel.Doubt => $"!        {finding.Text}",
                _ => $"note     {finding.Text}",
            };
        }
    }

    /// <summary>A comparison as a sentence.</summary>
    public static string Sentence(ComparisonRecord c) => FormattableString.Invariant(
        $"{c.Arm} {Verb(c.Verdict)} {c.Against}: {c.Ratio:0.000}x [{c.Interval}], p = {Numbers.Short(c.P)} ({(1 - c.Alpha) * 100:0.##} % interval, margin {c.Margin * 100:0.#} %, alpha {c.Alpha * 100:0.#} %)")
        + (c.Note is null ? "" : "; " + c.Note);

    private static string Verb(Verdict verdict) =>
        $"is {VerdictWords.Of(verdict)} {verdict switch { Verdict.Equivalent => "to", Verdict.Inconclusive => "against", _ => "than" }}";
}
