using Weir.Cli.Formatting;
using Weir.Cli.Report.Writing;
using Weir.Cli.Results;

namespace Weir.Cli.Report.Page;

/// <summary>What a result comes to, in one line and a few badges.</summary>
internal static class PageVerdict
{
    /// <summary>The most important sentence.</summary>
    public static string Headline(ResultFile result)
    {
        if (result.Findings.FirstOrDefault(static f => f.Level == FindingLevel.Invalid) is { } invalid)
        {
            return $"The measurement is invalid: {invalid.Text}";
        }

        if (result.Comparisons.Count > 0)
        {
            ComparisonRecord first = result.Comparisons.FirstOrDefault(static c => c.Verdict is "SLOWER" or "FASTER") ?? result.Comparisons[0];
            string text = ResultText.Sentence(first)["VERDICT  ".Length..];
            return result.Comparisons.Count == 1 ? text + "." : $"{text}. All {result.Comparisons.Count} comparisons are below.";
        }

        ArmRecord? best = result.Arms.Where(static a => a.IsMeasured).MaxBy(static a => a.Rate().Median);
        return best is null ? "Nothing was measured to its end." : $"{best.Label} did the most: {Numbers.Rate(best.Rate().Median)} {result.Unit} per second, the median of {best.Counted.Count} rounds.";
    }

    /// <summary>Kind and text of each badge.</summary>
    public static IEnumerable<(string Kind, string Text)> Badges(ResultFile result)
    {
        if (result.Has(FindingLevel.Invalid))
        {
            yield return ("bad", "invalid");
        }
        else
        {
            yield return ("good", "valid");
        }

        if (result.Partial)
        {
            yield return ("bad", "partial");
        }

        if (result.Has(FindingLevel.Doubt))
        {
            int doubts = result.Findings.Count(static f => f.Level == FindingLevel.Doubt);
            yield return ("doubt", doubts == 1 ? "1 doubt" : $"{doubts} doubts");
        }

        foreach (IGrouping<string, ComparisonRecord> verdict in result.Comparisons.GroupBy(static c => c.Verdict))
        {
            yield return (verdict.Key switch { "FASTER" => "good", "SLOWER" => "bad", "INCONCLUSIVE" => "doubt", _ => "plain" }, verdict.Count() == 1 ? verdict.Key : $"{verdict.Count()} x {verdict.Key}");
        }
    }
}
