namespace Weir.Lab.Report.Page;

/// <summary>The summary of a result, in one line and a few badges.</summary>
internal static class PageVerdict
{
    /// <summary>The most important sentence.</summary>
    public static string Headline(ResultFile result)
    {
        if (result.Findings.FirstOrDefault(static f => f.Level == FindingLevel.Invalid) is { } invalid)
        {
            return $"The measurement is invalid: {invalid.Text}";
        }

        // Verdicts come before findings, and both before undecided comparisons.
        return Decided(result)
            ?? result.Findings.Where(static f => f.Kind is FindingKind.Bound or FindingKind.Scaling).Select(static f => f.Text).FirstOrDefault()
            ?? (result.Comparisons.Count > 0 ? Undecided(result.Comparisons) : Fastest(result));
    }

    private static string? Decided(ResultFile result)
    {
        ComparisonRecord? first = result.Comparisons.FirstOrDefault(static c => c.IsWorse || c.Verdict == Verdict.Faster)
            ?? (result.Comparisons.Count > 0 && result.Comparisons.All(static c => c.Verdict == Verdict.Equivalent) ? result.Comparisons[0] : null);
        return first is null ? null
            : result.Comparisons.Count == 1 ? ResultText.Sentence(first) + "."
            : $"{ResultText.Sentence(first)}. All {result.Comparisons.Count} comparisons are below.";
    }

    // What is known anyway: how far apart they can be at most.
    private static string Undecided(IReadOnlyList<ComparisonRecord> comparisons)
    {
        ComparisonRecord first =
            comparisons.FirstOrDefault(static c => c is { Verdict: Verdict.Inconclusive, Figure: ComparedFigure.Rate }) ?? comparisons[0];
        string what = first.HasInterval
            ? FormattableString.Invariant($"{first.Arm} does {first.Low:0.000} to {first.High:0.000} times as much per second as {first.Against} (most likely ")
                + FormattableString.Invariant($"{first.Ratio:0.000}), which does not decide whether they differ by more than {first.Margin * 100:0.#} %.")
            : $"{first.Arm} and {first.Against} have too few "
                + $"{(first.Pairs is not null ? "pairs of processes" : first.Processes is not null ? "processes" : "rounds")} for an interval of their ratio.";
        return comparisons.Count == 1 ? what : $"{what} All {comparisons.Count} comparisons are below.";
    }

    private static string Fastest(ResultFile result)
    {
        ArmRecord[] arms = [.. result.Arms.Where(static a => a.IsMeasured)];
        if (arms.Length == 0)
        {
            return "Nothing was measured to its end.";
        }

        ArmRecord best = arms.MaxBy(static a => a.Rate().Median)!;
        MedianInterval rate = best.RateInterval();
        string sure = ResultTables.Interval(rate) is { } interval
            ? $"the median of {best.Counted.Count} rounds, with the interval {interval}"
            : "in a single round, which has no interval";
        return best.IsProgram ? $"{best.Name} took {(arms.Length == 1 ? "" : "the least, ")}{Numbers.Nanoseconds(1e9 / rate.Median)} a run, "
            + $"{Numbers.Rate(rate.Median)} {result.Unit} per second: {sure}."
            : $"{best.Label} did {(arms.Length == 1 ? "" : "the most, ")}{Numbers.Rate(rate.Median)} {result.Unit} per second: {sure}.";
    }

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

        foreach (IGrouping<Verdict, ComparisonRecord> verdict in result.Comparisons.GroupBy(static c => c.Verdict))
        {
            yield return (verdict.Key switch
                {
                    Verdict.Faster or Verdict.Less => "good",
                    Verdict.Slower or Verdict.More => "bad",
                    Verdict.Inconclusive => "doubt",
                    _ => "plain",
                },
                verdict.Count() == 1 ? VerdictWords.Of(verdict.Key) : $"{verdict.Count()} x {VerdictWords.Of(verdict.Key)}");
        }
    }
}
