namespace Weir.Lab.Report.Page.Figures;

/// <summary>The latency that a share of all operations does not exceed, stretched towards the slowest.</summary>
internal static class SpectrumFigure
{
    private const int Height = 280;
    private const double WideRange = 30;

    public static Figure? Make(ResultFile result)
    {
        string[] names = [.. result.Names()];
        List<(ArmRecord Arm, bool Corrected, LatencyHistogram Latency, IReadOnlyList<PercentileLine> Lines)> all = [];
        foreach (ArmRecord arm in result.Arms)
        {
            if (arm.Latency(static r => r.Service) is { } service)
            {
                all.Add((arm, false, service, PercentileSpectrum.Of(service)));
            }

            if (arm.Latency(static r => r.Response) is { } response)
            {
                all.Add((arm, true, response, PercentileSpectrum.Of(response)));
            }
        }

        if (all.Count == 0)
        {
            return null;
        }

        bool corrected = all.Any(static s => s.Corrected);
        double[] values = [.. all.SelectMany(static s => s.Lines).Select(static l => (double)l.Nanoseconds)];
        bool wide = values.Max() / Math.Max(1, values.Where(static v => v > 0).DefaultIfEmpty(1).Min()) > WideRange;
        Scale latency = wide
            ? Scale.Logarithmic(values, Numbers.Nanoseconds)
            : Scale.Linear(values, static v => v == 0 ? "0" : Numbers.Nanoseconds(v));
        Scale share = Scale.Percentiles(all.SelectMany(static s => s.Lines).Select(static l => l.Inverse).Where(double.IsFinite).DefaultIfEmpty(10).Max());

        PlotFrame Draw(IEnumerable<(ArmRecord Arm, bool Corrected, LatencyHistogram Latency, IReadOnlyList<PercentileLine> Lines)> lines, int width)
        {
            PlotFrame plot = new(width, Height, share, latency, "percentile", "latency");
            foreach ((ArmRecord arm, bool isCorrected, _, IReadOnlyList<PercentileLine> spectrum) in lines)
            {
                int series = Array.IndexOf(names, arm.Name);
                (double X, double Y)[] points =
                    [.. spectrum.Select(l => (double.IsFinite(l.Inverse) ? l.Inverse : share.High, (double)Math.Max(1, l.Nanoseconds)))];
                plot.Line(points, series, dashed: corrected && !isCorrected);
                plot.Point(points[^1].X, points[^1].Y, series);
            }

            return plot;
        }

        return new Figure(
            "spectrum",
            "Latency by percentile",
            corrected
                ? "Solid: from the time at which an operation should have started. Dashed: from the time at which it did start, which hides the operations "
                    + "that waited "
                    + "behind a stall. The last point is the slowest operation."
                : "From the start of an operation to its end (service time); the wait for its start is not included. The last point is the "
                    + "slowest operation.",
            Legend(names, corrected),
            [.. all.GroupBy(static s => s.Arm.Workers).Select(g => new Panel(g.Key == 1 ? "1 worker" : $"{g.Key} workers", width => Draw(g, width)))],
            Table.Of(
                "Latency by percentile",
                1,
                all,
                [
                    ("arm", static s => s.Arm.Name),
                    ("workers", static s => $"{s.Arm.Workers}"),
                    ("from", static s => s.Corrected ? "intended start" : "start"),
                    .. new[] { 50, 75, 90, 95, 99, 99.9, 99.99, 99.999 }.Select(p => (
                        FormattableString.Invariant($"{p:0.##} %"),
                        (Func<(ArmRecord Arm, bool Corrected, LatencyHistogram Latency, IReadOnlyList<PercentileLine> Lines), string?>)(s =>
                            ResultTables.Percentile(s.Latency, p, result.Machine.ClockNs)))),
                    ("slowest", static s => Numbers.Nanoseconds(s.Lines[^1].Nanoseconds)),
                ]));
    }

    /// <summary>The legend of latencies: with a rate, each arm has a solid and a dashed line.</summary>
    internal static IReadOnlyList<(int Series, string Name, bool Dashed)> Legend(IReadOnlyList<string> names, bool corrected) => corrected
        ? [.. names.SelectMany(static (n, i) => new[] { (i, $"{n}, from the intended start", false), (i, $"{n}, from the start", true) })]
        : [.. names.Select(static (n, i) => (i, n, false))];
}

/// <summary>How the latencies are spread: the share of the operations that took about so long.</summary>
internal static class DistributionFigure
{
    private const int Height = 240;
    private const int Bins = 64;
    private const int MostPanels = 8;
    private const double WideRange = 4;

    // The lowest height that is drawn, relative to the highest. A mode of a few operations in a hundred stands well above it.
    private const double Floor = 1e-4;

    /// <summary>The distribution of some latencies, as far as they are drawn.</summary>
    private sealed record Curve(ArmRecord Arm, bool Dashed, LatencyHistogram Latency);

    public static Figure? Make(ResultFile result)
    {
        string[] names = [.. result.Names()];
        bool corrected = result.Arms.Any(static a => a.Counted.Any(static r => r.Response is not null));
        Curve[] curves =
        [
            .. result.Arms.SelectMany(a => new[]
            {
                (Arm: a, Dashed: corrected, Latency: a.Latency(static r => r.Service)), (Arm: a, Dashed: false, Latency: a.Latency(static r => r.Response)),
            })
                .Where(static c => c.Latency is { Count: > 1 }).Select(static c => new Curve(c.Arm, c.Dashed, c.Latency!)),
        ];
        if (curves.Length == 0)
        {
            return null;
        }

        int[] workers = [.. curves.Select(static c => c.Arm.Workers).Distinct()];
        return new Figure(
            "distribution",
            "Distribution of the latencies",
            (corrected ? "Solid: from the time at which an operation should have started. Dashed: from the time at which it did start. " : "")
                + "The height is the share of the operations that took about that long, relative to the highest, on a logarithmic scale; the mark is the "
                + "median. The slowest operation in 10,000 is where it ends."
                + (workers.Length > MostPanels ? $" The {MostPanels} most workers are drawn; the table has all." : ""),
            SpectrumFigure.Legend(names, corrected),
            [.. workers.OrderDescending().Take(MostPanels).Order().Select(n => Panel(n, [.. curves.Where(c => c.Arm.Workers == n)], names))],
            Table.Of(
                "Distribution of the latencies",
                1,
                curves,
                [
                    ("arm", static c => c.Arm.Name),
                    (Table.Workers, static c => $"{c.Arm.Workers}"),
                    ("from", c => corrected && !c.Dashed ? "intended start" : "start"),
                    .. new[] { 1.0, 5, 25, 50, 75, 95, 99 }.Select(p => (
                        FormattableString.Invariant($"{p:0} %"), (Func<Curve, string?>)(c => ResultTables.Percentile(c.Latency, p, result.Machine.ClockNs)))),
                ]));
    }

    private static Panel Panel(int workers, Curve[] curves, string[] names)
    {
        // The one slowest of many would leave no room for the others.
        double low = Math.Max(1, curves.Min(static c => c.Latency.Min));
        double high = Math.Max(low + 1, curves.Max(static c => c.Latency.ValueAtPercentile(99.99)));
        bool wide = high / low > WideRange;
        Scale latency = wide
            ? Scale.Logarithmic([low, high], Formatting.Numbers.Nanoseconds)
            : Scale.Linear([low, high], static v => v == 0 ? "0" : Formatting.Numbers.Nanoseconds(v), from: low);
        double[] edges = Edges(latency, wide, curves.Max(static c => ClockStep.Of(c.Latency)));
        (Curve Curve, (double X, double Y)[] Points)[] drawn = [.. curves.Select(c => (c, Density(c.Latency, edges, latency)))];
        double most = drawn.Max(static d => d.Points.Max(static p => p.Y));

        PlotFrame Draw(int width)
        {
            PlotFrame plot = new(
                width, Height, latency, Scale.Logarithmic([Floor, 1], static v => FormattableString.Invariant($"{v * 100:0.##} %")), "latency",
                "share of the operations, relative to the highest");
            foreach ((Curve curve, (double X, double Y)[] points) in drawn)
            {
                int series = Array.IndexOf(names, curve.Arm.Name);
                (double X, double Y)[] relative = [.. points.Select(p => (p.X, Math.Max(p.Y / most, Floor)))];
                plot.Area(relative, series, curve.Dashed);
                double median = curve.Latency.ValueAtPercentile(50);
                plot.Point(median, relative.MinBy(p => Math.Abs(latency.Position(p.X) - latency.Position(median))).Y, series);
            }

            return plot;
        }

        return new Panel(workers == 1 ? "1 worker" : $"{workers} workers", Draw);
    }

    // No bin is narrower than the step in which latencies come, which is that of the clock or of the histogram's own buckets: bins between two steps would be
    // empty, and the curve a comb. Each edge lies between two steps, so that it cuts none in two.
    private static double[] Edges(Scale latency, bool wide, double step)
    {
        List<double> edges = [];
        for (int i = 0; i <= Bins; i++)
        {
            double at = wide ? latency.Low * Math.Pow(latency.High / latency.Low, i / (double)Bins) : latency.Low + ((latency.High - latency.Low) * i / Bins);
            double own = Math.Max(step, HistogramLayout.WidthOf(HistogramLayout.IndexOf((long)Math.Clamp(at, 0, HistogramLayout.Greatest))));
            double edge = Math.Ceiling(Math.Max(0, (Math.Round(at / own) - 0.5) * own));
            if (edges.Count == 0 || edge - edges[^1] >= own - 1)
            {
                edges.Add(edge);
            }
        }

        return [.. edges];
    }

    private static (double X, double Y)[] Density(LatencyHistogram latency, double[] edges, Scale scale)
    {
        List<(double, double)> points = [];
        for (int i = 1; i < edges.Length; i++)
        {
            double share = latency.ShareAtOrBelow((long)edges[i] - 1) - (edges[i - 1] > 0 ? latency.ShareAtOrBelow((long)edges[i - 1] - 1) : 0);
            points.Add(((edges[i - 1] + edges[i]) / 2, share / (scale.Position(edges[i]) - scale.Position(edges[i - 1]))));
        }

        return [.. points];
    }
}

/// <summary>The step in which a clock counts, as the latencies that were measured with it show.</summary>
internal static class ClockStep
{
    // A few latencies at one distance by chance are no clock.
    private const int LeastGaps = 3;

    /// <summary>The step in nanoseconds: 1 if the clock counts them, or if there are too few latencies to tell.</summary>
    /// <remarks>
    /// Latencies are multiples of the step, cut to whole nanoseconds. So no two that differ are nearer to each other than that, and where they are many, most
    /// neighbours are one step apart. Above <see cref="HistogramLayout"/>'s whole nanoseconds nothing can be seen of it.
    /// </remarks>
    public static double Of(LatencyHistogram latency)
    {
        ReadOnlySpan<long> counts = latency.Counts;
        List<int> gaps = [];
        int last = -1;
        for (int i = 0; i < counts.Length && HistogramLayout.WidthOf(i) == 1; i++)
        {
            if (counts[i] > 0)
            {
                if (last >= 0)
                {
                    gaps.Add(i - last);
                }

                last = i;
            }
        }

        if (gaps.Count < LeastGaps)
        {
            return 1;
        }

        // Cut to whole nanoseconds, the same step is now one longer and now one shorter.
        int least = gaps.Min();
        int[] single = [.. gaps.Where(g => g <= least + 1)];
        return least > 1 && single.Length >= LeastGaps && single.Length * 2 > gaps.Count ? single.Average() : 1;
    }
}
