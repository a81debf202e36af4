namespace Weir.Lab.Report.Page.Figures;

/// <summary>How fast each arm was with each number of workers, and the scaling law through it.</summary>
internal static class ThroughputFigure
{
    private const int Height = 300;
    private const int CurvePoints = 60;

    /// <summary>The figure; <see langword="null"/> with a single number of workers, over which there is nothing to see.</summary>
    public static Figure? Make(ResultFile result)
    {
        string[] names = [.. result.Names()];
        ArmRecord[] arms = [.. result.Arms.Where(static a => a.IsMeasured)];
        if (arms.Select(static a => a.Workers).Distinct().Count() < 2)
        {
            return null;
        }

        FitRecord[] fits = [.. result.Fits.Where(static f => f.Refused is null)];
        Scale workers = Scale.Workers(arms.Select(static a => a.Workers));
        Scale rate = Scale.Linear(arms.Select(static a => a.Rate().Max), Scale.Compact);

        PlotFrame Draw(int width)
        {
            PlotFrame plot = new(width, Height, workers, rate, "workers", $"{result.Unit}/s");
            foreach (FitRecord fit in fits)
            {
                double ratio = workers.High / workers.Low;
                plot.Line(
                    Enumerable.Range(0, CurvePoints + 1).Select(i => workers.Low * Math.Pow(ratio, i / (double)CurvePoints)).Select(n => (n, fit.RateAt(n))),
                    Array.IndexOf(names, fit.Name),
                    dashed: true);
                if (fit.PeakWorkers is { } peak && peak >= workers.Low && peak <= workers.High)
                {
                    plot.Vertical(peak, FormattableString.Invariant($"peak at {peak:0.#}"));
                }
            }

            for (int i = 0; i < names.Length; i++)
            {
                // Beside each other, so that intervals do not hide one another.
                int shift = (int)((i - ((names.Length - 1) / 2.0)) * 7);
                ArmRecord[] own = [.. arms.Where(a => a.Name == names[i]).OrderBy(static a => a.Workers)];
                if (!fits.Any(f => f.Name == names[i]))
                {
                    plot.Line(own.Select(static a => ((double)a.Workers, a.Rate().Median)), i);
                }

                foreach (ArmRecord arm in own)
                {
                    Spread spread = arm.Rate();
                    plot.Point(arm.Workers, spread.Median, i, spread.Min, spread.Max, shift);
                }
            }

            return plot;
        }

        return new Figure(
            "throughput",
            "Throughput by workers",
            fits.Length > 0
                ? "A point is the median of the rounds, the whisker reaches from the slowest to the fastest. The dashed curve is the fitted scaling law."
                : "A point is the median of the rounds, the whisker reaches from the slowest to the fastest.",
            [.. names.Select(static (n, i) => (i, n, false)), .. fits.Select(f => (Array.IndexOf(names, f.Name), $"{f.Name}: scaling law", true))],
            [new Panel("", Draw)],
            Table.Of(
                "Throughput by workers",
                1,
                arms,
                ("arm", static a => a.Name),
                ("workers", static a => Numbers.Grouped(a.Workers)),
                ("median", static a => Numbers.Rate(a.Rate().Median)),
                ("lowest", static a => Numbers.Rate(a.Rate().Min)),
                ("highest", static a => Numbers.Rate(a.Rate().Max)),
                ("rounds", static a => Numbers.Grouped(a.Counted.Count)),
                ("scaling law", a => fits.FirstOrDefault(f => f.Name == a.Name) is { } fit ? Numbers.Rate(fit.RateAt(a.Workers)) : null)));
    }
}
