namespace Weir.Lab.Report.Page.Figures;

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
        double[] edges = Edges(latency, wide);
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
                plot.Point(median, relative.MinBy(p => Math.Abs(latency.Place(p.X) - latency.Place(median))).Y, series);
            }

            return plot;
        }

        return new Panel(workers == 1 ? "1 worker" : $"{workers} workers", Draw);
    }

    // Whole nanoseconds, as latencies are: a narrower bin would be empty or full by chance.
    private static double[] Edges(Scale latency, bool wide) =>
    [
        .. Enumerable.Range(0, Bins + 1)
            .Select(i => wide ? latency.Low * Math.Pow(latency.High / latency.Low, i / (double)Bins) : latency.Low + ((latency.High - latency.Low) * i / Bins))
            .Select(static v => Math.Round(v))
            .Distinct(),
    ];

    private static (double X, double Y)[] Density(LatencyHistogram latency, double[] edges, Scale scale)
    {
        List<(double, double)> points = [];
        for (int i = 1; i < edges.Length; i++)
        {
            double share = latency.ShareAtOrBelow((long)edges[i] - 1) - (edges[i - 1] > 0 ? latency.ShareAtOrBelow((long)edges[i - 1] - 1) : 0);
            points.Add(((edges[i - 1] + edges[i]) / 2, share / (scale.Place(edges[i]) - scale.Place(edges[i - 1]))));
        }

        return [.. points];
    }
}
