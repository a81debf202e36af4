namespace Weir.Lab.Report.Page.Figures;

/// <summary>How much was really in flight, over the same axis as the throughput.</summary>
internal static class DepthFigure
{
    private const int Height = 260;

    public static Figure? Make(ResultFile result)
    {
        ArmRecord[] arms = [.. result.Arms.Where(static a => a.IsMeasured && Depth(a) is not null)];
        if (arms.Select(static a => a.Workers).Distinct().Count() < 2)
        {
            return null;
        }

        string[] names = [.. result.Names()];
        Scale workers = Scale.Workers(result.Arms.Where(static a => a.IsMeasured).Select(static a => a.Workers));
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
                    plot.Point(arm.Workers, Depth(arm)!.Value, i, Depth(arm), Most(arm), shift);
                }
            }

            return plot;
        }

        return new Figure(
            "depth",
            "In flight by workers",
            reads
                ? "What the device sees: threads that wait inside a read, on average (point) and at most (whisker). The number of workers is what was "
                    + "requested; "
                    + "where this is lower, files waited for a processor, or asynchronous reads for a thread of the pool."
                : "Operations in flight at once, on average (point) and at most (whisker).",
            [.. names.Select(static (n, i) => (i, n, false))],
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
