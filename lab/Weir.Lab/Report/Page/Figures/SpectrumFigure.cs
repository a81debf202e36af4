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
