namespace Weir.Lab.Report.Page.Figures;

/// <summary>How one round of each arm went over time: its rate, collections, and threads of the pool.</summary>
internal static class TimelineFigure
{
    private const int Height = 210;
    private const int SmallHeight = 130;

    // A slice has one value from its beginning to its end: a slanted line would show rates that nobody measured.
    private static IEnumerable<(double X, double Y)> Steps(IReadOnlyList<TimelineRecord> points, Func<TimelineRecord, double> value)
    {
        double from = 0;
        foreach (TimelineRecord point in points)
        {
            yield return (from, value(point));
            yield return (point.Second, value(point));
            from = point.Second;
        }
    }

    public static Figure? Make(ResultFile result)
    {
        string[] names = [.. result.Names()];
        int workers = result.Arms.Where(static a => a.IsMeasured).Select(static a => a.Workers).DefaultIfEmpty(0).Max();
        (string Name, int Series, RoundRecord Round)[] shown =
        [
            .. result.Arms.Where(a => a.IsMeasured && a.Workers == workers)
                .Select(a => (a.Name, Array.IndexOf(names, a.Name), a.Counted.OrderBy(static r => r.Rate).ElementAt(a.Counted.Count / 2)))
                .Where(static x => x.Item3.Timeline.Count > 1),
        ];
        if (shown.Length == 0)
        {
            return null;
        }

        TimelineRecord[] points = [.. shown.SelectMany(static s => s.Round.Timeline)];
        Scale time = Scale.Linear(points.Select(static p => p.Second), static v => FormattableString.Invariant($"{v:0.##}"));
        Scale rate = Scale.Linear(points.Select(static p => p.Rate), Scale.Compact);
        Scale pause = Scale.Linear(points.Select(static p => p.GcPauseMs).Append(1), static v => FormattableString.Invariant($"{v:0.#}"));
        Scale threads = Scale.Linear(points.Select(static p => (double)p.PoolThreads).Append(1), static v => FormattableString.Invariant($"{v:0.#}"));

        PlotFrame Rate(int width)
        {
            PlotFrame plot = new(width, Height, time, rate, "", $"{result.Unit}/s");
            foreach ((_, int series, RoundRecord round) in shown)
            {
                plot.Line(Steps(round.Timeline, static p => p.Rate), series);
            }

            return plot;
        }

        PlotFrame Pauses(int width)
        {
            PlotFrame plot = new(width, SmallHeight, time, pause, "", "garbage collection pauses, ms");
            foreach ((_, int series, RoundRecord round) in shown)
            {
                double from = 0;
                foreach (TimelineRecord point in round.Timeline)
                {
                    if (point.GcPauseMs > 0)
                    {
                        plot.Bar(from, point.Second, point.GcPauseMs, series);
                    }

                    from = point.Second;
                }
            }

            return plot;
        }

        PlotFrame Threads(int width)
        {
            PlotFrame plot = new(width, SmallHeight + 18, time, threads, "seconds", "pool threads");
            foreach ((_, int series, RoundRecord round) in shown)
            {
                plot.Line(Steps(round.Timeline, static p => p.PoolThreads), series);
            }

            return plot;
        }

        return new Figure(
            "timeline",
            "One round over time",
            $"The median round of each arm with {Numbers.Grouped(workers)} workers.",
            [.. shown.Select(static s => (s.Series, s.Name, false))],
            [new Panel("", Rate), new Panel("", Pauses), new Panel("", Threads)],
            Table.Of(
                "One round over time",
                2,
                [.. shown.SelectMany(static s => s.Round.Timeline, static (s, p) => (s.Name, Point: p))],
                ("arm", static x => x.Name),
                ("second", static x => FormattableString.Invariant($"{x.Point.Second:0.00}")),
                ($"{result.Unit}/s", static x => Numbers.Rate(x.Point.Rate)),
                ("GC pause ms", static x => FormattableString.Invariant($"{x.Point.GcPauseMs:0.##}")),
                ("pool threads", static x => $"{x.Point.PoolThreads}")));
    }
}
