namespace Weir.Lab.Report.Tables;

/// <summary>The tables of a history: the same in the terminal and on the page.</summary>
internal static class HistoryTables
{
    /// <summary>Where each arm stands.</summary>
    public static Table Arms(IReadOnlyList<HistorySeries> series) => Table.Of(
        $"Arms on {series[0].Machine} ({series[0].MachineText})",
        1,
        series,
        ("arm", static s => s.Name),
        ("results", static s => Numbers.Grouped(s.Points.Count)),
        ("commits", static s => Numbers.Grouped(s.Points.Select(static p => p.Name).Distinct().Count())),
        ("last", static s => s.Points[^1].Name),
        ("figure", static s => s.Text(s.Points[^1].Value) + (s.Figure == ComparedFigure.Rate ? "/s" : "")),
        ("since the first", static s => FormattableString.Invariant($"{ArmBytes.RatioOf(s.Points[^1].Value - s.Points[0].Value, s.Points[0].Value):0.000}x")),
        ("changes", static s => Numbers.Grouped(s.Changes.Count)));

    /// <summary>Where arms changed; <see langword="null"/> when none did.</summary>
    public static Table? Changes(IReadOnlyList<HistorySeries> series)
    {
        (HistorySeries Series, HistoryChange Change)[] changes = [.. series.SelectMany(static s => s.Changes, static (s, c) => (s, c))];
        return changes.Length == 0 ? null : Table.Of(
            $"Changes on {series[0].Machine}",
            2,
            changes,
            ("arm", static x => x.Series.Name),
            ("since", static x => x.Change.Commit),
            ("before", static x => x.Change.Before),
            ("ratio", static x => FormattableString.Invariant($"{x.Change.Ratio:0.000}")),
            ("interval",
                static x => x.Change.Low == x.Change.High ? "exact"
                    : double.IsFinite(x.Change.High) ? FormattableString.Invariant($"{x.Change.Low:0.000}..{x.Change.High:0.000}")
                    : "too few results"),
            ("p", static x => Numbers.Short(x.Change.P)),
            ("verdict", static x => VerdictWords.Of(x.Change.Verdict)));
    }

    public static string Sentence(HistorySeries series, HistoryChange change) =>
        $"{series.Name} {(series.Figure == ComparedFigure.Bytes ? "are" : "is")} {VerdictWords.Of(change.Verdict)}"
        + (change.Verdict == Statistics.Verdict.Equivalent ? " within the margin, though not the same," : "")
        + FormattableString.Invariant($" from {change.Commit} on: {change.Ratio:0.000}x, p = {Numbers.Short(change.P)}; ")
        + $"measured last before it: {change.Before}.";
}
