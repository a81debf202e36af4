namespace Weir.Cli.Commands.Compare;

/// <summary>
/// The result of a comparison for reviewers of a change: a short text in Markdown, and annotations in the format of GitHub's runners.
/// </summary>
internal static class PullRequestSummary
{
    private static readonly Verdict[] Order = [Verdict.Slower, Verdict.More, Verdict.Inconclusive, Verdict.Faster, Verdict.Less, Verdict.Equivalent];

    /// <summary>The text in Markdown: the verdicts, with those that need attention first.</summary>
    public static string Markdown(ResultFile result)
    {
        StringBuilder text = new();
        ComparisonRecord[] comparisons = [.. result.Comparisons.OrderBy(static c => Array.IndexOf(Order, c.Verdict))];
        text.Append("### ").Append(Headline(comparisons, result)).Append("\n\n");
        if (comparisons.Length > 0)
        {
            text.Append("| verdict | what | against | figure | ratio | interval | smallest that is found |\n|---|---|---|---|---:|---:|---:|\n");
            foreach (ComparisonRecord c in comparisons)
            {
                text.Append(FormattableString.Invariant($"| {VerdictWords.Of(c.Verdict)} | {Escaped(c.Arm)} | {Escaped(c.Against)} | "))
                    .Append(FormattableString.Invariant($"{FigureWords.Of(c.Figure)} | {c.Ratio:0.000}x | {c.Interval} | {Smallest(c)} |\n"));
            }

            text.Append('\n');
        }

        foreach (Finding finding in result.Findings.Where(static f => f.Level > FindingLevel.Note))
        {
            text.Append("- ").Append(finding.Level == FindingLevel.Invalid ? "**invalid**: " : "").Append(Escaped(finding.Text)).Append('\n');
        }

        return text.Append(FormattableString.Invariant(
            $"\n<sub>{Escaped(result.Machine.Cpu)}, {result.Machine.Cores} cores, .NET {result.Machine.Dotnet}; a rate above 1x is faster</sub>\n")).ToString();
    }

    /// <summary>Writes both, as they are asked for.</summary>
    /// <param name="result">The result.</param>
    /// <param name="file">The file that the text is appended to; <see langword="null"/> for none.</param>
    /// <param name="isAnnotated">Whether the annotations are written.</param>
    /// <param name="errors">Where they go: with --json, the standard output contains only JSON.</param>
    public static void Append(ResultFile result, string? file, bool isAnnotated, TextWriter errors)
    {
        if (file is not null)
        {
            File.AppendAllText(file, Markdown(result));
        }

        foreach (string line in isAnnotated ? Annotations(result) : [])
        {
            errors.WriteLine(line);
        }
    }

    /// <summary>One line for each comparison that needs attention, and one for each finding that makes the result invalid.</summary>
    public static IEnumerable<string> Annotations(ResultFile result)
    {
        foreach (ComparisonRecord c in result.Comparisons.Where(static c => c.IsWorse || c.Verdict == Verdict.Inconclusive))
        {
            yield return FormattableString.Invariant($"::{(c.IsWorse ? "error" : "notice")} title={Property(c.Arm)} is ")
                + FormattableString.Invariant($"{VerdictWords.Of(c.Verdict)}::{Data($"{c.Ratio:0.000}x of {c.Against}, {c.Interval}")}");
        }

        foreach (Finding finding in result.Findings.Where(static f => f.Level == FindingLevel.Invalid))
        {
            yield return $"::error title=The measurement is invalid::{Data(finding.Text)}";
        }
    }

    private static string Smallest(ComparisonRecord c) => c.Figure == ComparedFigure.Bytes ? (c.Interval == "exact" ? "1 B" : "-")
        : c.Detectable is { } change ? FormattableString.Invariant($"{change * 100:0.#} %")
        : "-";

    private static string Headline(ComparisonRecord[] comparisons, ResultFile result) =>
        result.Has(FindingLevel.Invalid) ? "The measurement is invalid"
        : comparisons.Length == 0 ? "Nothing was compared"
        : string.Join(", ", comparisons.GroupBy(static c => c.Verdict).Select(static g => $"{Numbers.Grouped(g.Count())} {VerdictWords.Of(g.Key)}"))
            + (result.Partial ? " (stopped before its end)" : "");

    private static string Escaped(string text) =>
        text.Replace("|", "\\|", StringComparison.Ordinal).Replace("<", "&lt;", StringComparison.Ordinal).Replace("\n", " ", StringComparison.Ordinal);

    // As the runner reads them: https://github.com/actions/toolkit, command.ts.
    private static string Data(string text) =>
        text.Replace("%", "%25", StringComparison.Ordinal).Replace("\r", "%0D", StringComparison.Ordinal).Replace("\n", "%0A", StringComparison.Ordinal);

    private static string Property(string text) => Data(text).Replace(":", "%3A", StringComparison.Ordinal).Replace(",", "%2C", StringComparison.Ordinal);
}
