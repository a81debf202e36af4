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
        (string Name, int Series, RoundRecord Round)[] shown =
        [
            .. result.Arms.Where(static a => a.IsMeasured).GroupBy(static a => a.Name).Select(static g => g.MaxBy(static a => a.Workers)!)
                .Select(a => (a.Label, Array.IndexOf(names, a.Name), a.Counted.OrderBy(static r => r.Rate).ElementAt(a.Counted.Count / 2)))
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
            "The median round of each arm, with the most workers that it had.",
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

/// <summary>The processors and the memory that the measured processes used, over all rounds of the run.</summary>
internal static class ResourcesFigure
{
    private const int Height = 180;
    private const int MostTicks = 12;
    private const double Megabyte = 1 << 20;

    public static Figure? Make(ResultFile result)
    {
        string[] names = [.. result.Names()];
        (ArmRecord Arm, RoundRecord Round)[] rounds =
        [
            .. result.Arms.Where(static a => a.IsMeasured).SelectMany(static a => a.Rounds, static (a, r) => (a, r))
                .Where(static x => x.r.Timeline.Any(static p => p.Cores is not null)).OrderBy(static x => x.r.Order),
        ];
        if (rounds.Length == 0)
        {
            return null;
        }

        int last = rounds.Max(static x => x.Round.Order);
        int step = Math.Max(1, last / MostTicks);
        Scale order = Scale.Numbered(0, last, Enumerable.Range(1, last).Where(i => i % step == 0 || i == 1).Select(static i => (i - 0.5, $"{i}")));
        return new Figure(
            "resources",
            "Processors and memory over the run",
            "What the measuring process used, round by round in the order of the run. Rounds of different processes do not continue each other.",
            [.. names.Select(static (n, i) => (i, n, false))],
            [
                new Panel("", w => Plot(w, "", "processors", static p => p.Cores)),
                new Panel("", w => Plot(w, "round, in the order of the run", "resident memory, MB", static p => p.ResidentBytes / Megabyte)),
            ],
            Table.Of(
                "Processors and memory over the run",
                2,
                rounds,
                ("arm", static x => x.Arm.Label),
                ("round", static x => Numbers.Grouped(x.Round.Order)),
                ("processors", static x => FormattableString.Invariant($"{x.Round.Cores:0.00}")),
                ("resident at its end", static x => x.Round.Timeline[^1].ResidentBytes is { } bytes ? Numbers.Bytes(bytes) : null)));

        PlotFrame Plot(int width, string x, string y, Func<TimelineRecord, double?> value)
        {
            Scale scale = Scale.Linear(rounds.SelectMany(r => r.Round.Timeline.Select(value)).OfType<double>().Append(1), Scale.Compact);
            PlotFrame plot = new(width, Height, order, scale, x, y);
            foreach ((ArmRecord arm, RoundRecord round) in rounds)
            {
                double end = round.Timeline[^1].Second;
                plot.Line(
                    round.Timeline.Where(p => value(p) is not null).Select(p => (round.Order - 1 + (p.Second / end), value(p)!.Value)),
                    Array.IndexOf(names, arm.Name));
            }

            return plot;
        }
    }
}

/// <summary>How much was really in flight, over the same axis as the throughput.</summary>
internal static class DepthFigure
{
    private const int Height = 260;

    public static Figure? Make(ResultFile result)
    {
        ArmRecord[] arms = [.. Answer.Swept(result.Arms.Where(static a => a.IsMeasured && Depth(a) is not null)).SelectMany(static series => series)];
        if (arms.Length == 0)
        {
            return null;
        }

        string[] names = [.. result.Names()];
        Scale workers = Scale.Workers(arms.Select(static a => a.Workers));
        bool reads = arms.Any(static a => a.Mean(static r => r.InFlight) is not null);
        Scale depth = Scale.Linear(arms.Select(static a => Math.Max(Depth(a)!.Value, Most(a) ?? 0)), Scale.Compact);

        PlotFrame Draw(int width)
        {
            PlotFrame plot = new(width, Height, workers, depth, "workers", reads ? "reads waiting in the kernel" : "operations under way");
            for (int i = 0; i < names.Length; i++)
            {
                int shift = (int)((i - ((names.Length - 1) / 2.0)) * 7);
                ArmRecord[] own = [.. arms.Where(a => a.Name == names[i]).OrderBy(static a => a.Workers)];
                plot.Line(own.Select(static a => ((double)a.Workers, Depth(a)!.Value)), i);
                foreach (ArmRecord arm in own)
                {
                    plot.Point(arm.Workers, Depth(arm)!.Value, i, shift: shift);
                    if (Most(arm) is { } most)
                    {
                        plot.Ring(arm.Workers, most, i, shift);
                    }
                }
            }

            return plot;
        }

        return new Figure(
            "depth",
            "In flight by workers",
            reads
                ? "What the device sees: threads that wait inside a read, on average (point) and at most (ring). The number of workers is what was "
                    + "requested; "
                    + "where this is lower, files waited for a processor, or asynchronous reads for a thread of the pool."
                : "Operations in flight at once, on average (point) and at most (ring).",
            [.. names.Select(static (n, i) => (i, n, false)).Where(x => arms.Any(a => a.Name == x.n))],
            [new Panel("", Draw)],
            Table.Of(
                "In flight by workers",
                1,
                arms,
                ("arm", static a => a.Name),
                ("workers", static a => Numbers.Grouped(a.Workers)),
                ("waiting reads, average", static a => Figure(a.Mean(static r => r.InFlight))),
                ("waiting reads, most", static a => Figure(a.Max(static r => r.InFlightMax))),
                ("open, average", static a => Figure(a.Mean(static r => r.Open))),
                ("open, most", static a => Figure(a.Max(static r => r.OpenMax))),
                ("pool threads", static a => Figure(a.Max(static r => r.PoolThreads)))));
    }

    private static string? Figure(double? value) => value is { } known ? FormattableString.Invariant($"{known:0.##}") : null;

    private static double? Depth(ArmRecord arm) => arm.Mean(static r => r.InFlight ?? r.Open);

    private static double? Most(ArmRecord arm) => arm.Max(static r => r.InFlightMax ?? r.OpenMax);
}
