namespace Weir.Tables.Page;

/// <summary>What was measured of one suite, as Markdown: the table, and then each goal with its judgement.</summary>
internal static class SuiteTable
{
    public static string Render(string provenance, IReadOnlyList<CaseResult> cases)
    {
        StringBuilder page = new();
        page.Append(provenance).Append("\n\n");
        page.Append("| case | arm | time a run | [min..max] | ratio | [min..max] | B an item | B a run | hops an item | cores | samples |\n");
        page.Append("|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n");
        foreach (CaseResult result in cases)
        {
            foreach (ArmResult arm in result.Arms)
            {
                page.Append(Row(result, arm)).Append('\n');
            }
        }

        bool first = true;
        foreach (CaseResult result in cases)
        {
            foreach (string sentence in Sentences(result))
            {
                // The first one is parted from the table by a line.
                page.Append(first ? "\n" : "").Append("- ").Append(Lead(result)).Append(sentence).Append('\n');
                first = false;
            }
        }

        return page.ToString().TrimEnd('\n');
    }

    private static IEnumerable<string> Sentences(CaseResult result) =>
    [
        .. result.Arms.Where(static arm => arm.Stuck is not null).Select(static arm => arm.Stuck!.Sentence(arm.Name, arm.Samples.Count)),
        .. result.Goals.Select(goal => goal.Evaluate(result)),
    ];

    private static string Lead(CaseResult result) => result.Name.Length == 0 ? "" : $"{result.Name}: ";

    private static string Row(CaseResult result, ArmResult arm)
    {
        if (arm.Samples.Count == 0)
        {
            return Invariant($"| {result.Name} | {arm.Name} | none | | | | | | | | 0 |");
        }

        Spread time = arm.Nanoseconds;
        Spread ratio = Spread.OfAny(CaseResult.TimeRatios(arm, result.Baseline));
        string times = $"{Format.Time(time.Median)} | {Format.Time(time.Min)}..{Format.Time(time.Max)}";
        string ratios = arm.IsBaseline ? "1 (baseline) | "
            : double.IsNaN(ratio.Median) ? " | "
            : $"{Format.Ratio(ratio.Median)} | {Format.Ratio(ratio.Min)}..{Format.Ratio(ratio.Max)}";
        string bytes = Invariant($"{arm.Bytes / result.Items:0.0} | {arm.Bytes:N0}");
        return Invariant($"| {result.Name} | {arm.Name} | {times} | {ratios} | {bytes} | {Format.Digits(arm.Hops / result.Items)} | {arm.Cores:0.00} | {arm.Samples.Count} |");
    }
}
