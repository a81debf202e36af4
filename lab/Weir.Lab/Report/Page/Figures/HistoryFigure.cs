namespace Weir.Lab.Report.Page.Figures;

/// <summary>The figures of arms over the commits that they were measured at, each with an axis of its own.</summary>
internal static class HistoryFigure
{
    private const int Height = 240;
    private const int RoomOfALabel = 70;
    private const int RoomOfTheAxis = 80;
    private static readonly int LeastRounds = Enumerable.Range(1, 100).First(static n => MedianInterval.Of([.. Enumerable.Repeat(1.0, n)]).IsUsual);

    /// <summary>The figure of one machine.</summary>
    public static Figure Make(string id, IReadOnlyList<HistorySeries> series)
    {
        (HistorySeries Series, HistoryPoint Point)[] points = [.. series.SelectMany(static s => s.Points, static (s, p) => (s, p))];
        string title = $"Figures by commit on {series[0].Machine}";
        return new Figure(
            id,
            title,
            "A point is a result: of rates the median of its rounds, the whisker the interval of that median, if there were rounds enough for one. A vertical line marks the first commit with "
                + "a new figure. A plus sign marks a tree with changes.",
            [],
            [.. series.Select((s, i) => new Panel($"{s.Name}{UnitOf(s)}", width => Draw(s, i, width)))],
            Table.Of(
                title,
                2,
                points,
                ("arm", static x => x.Series.Name),
                ("commit", static x => x.Point.Name),
                ("measured", static x => FormattableString.Invariant($"{x.Point.MeasuredAt:yyyy-MM-dd HH:mm}")),
                ("median", static x => x.Series.Text(x.Point.Value)),
                ("lowest of the interval", static x => x.Series.Text(x.Point.Low)),
                ("highest", static x => x.Series.Text(x.Point.High)),
                ("rounds", static x => Numbers.Grouped(x.Point.Rounds))));
    }

    private static PlotFrame Draw(HistorySeries series, int index, int width)
    {
        IReadOnlyList<HistoryPoint> points = series.Points;
        int every = Math.Max(1, (int)Math.Ceiling(points.Count / Math.Max(1.0, (width - RoomOfTheAxis) / RoomOfALabel)));
        Scale commits = Scale.Numbered(
            -0.5, points.Count - 0.5, [.. Enumerable.Range(0, points.Count).Where(i => i % every == 0).Select(i => ((double)i, points[i].Name))]);
        Scale rates = Scale.Linear(points.SelectMany(static p => new[] { p.Low, p.High }), Scale.Compact, from: points.Min(static p => p.Low));
        PlotFrame plot = new(width, Height, commits, rates, "commit", series.Name + UnitOf(series));
        foreach (HistoryChange change in series.Changes)
        {
            plot.Vertical(IndexOf(points, change.Commit) - 0.5, FormattableString.Invariant($"{change.Commit}: {change.Ratio:0.00}x"));
        }

        plot.Line(points.Select(static (p, i) => ((double)i, p.Value)), index);
        for (int i = 0; i < points.Count; i++)
        {
            // The interval of a median needs rounds.
            bool hasInterval = points[i].Low < points[i].High && points[i].Rounds >= LeastRounds;
            plot.Point(i, points[i].Value, index, hasInterval ? points[i].Low : null, hasInterval ? points[i].High : null);
        }

        return plot;
    }

    private static string UnitOf(HistorySeries series) => series.Figure switch
    {
        ComparedFigure.Rate => $", {series.Unit}/s",
        ComparedFigure.Bytes => ", B an operation",
        _ => ", ns",
    };

    private static int IndexOf(IReadOnlyList<HistoryPoint> points, string commit) => Enumerable.Range(0, points.Count).First(i => points[i].Name == commit);
}
