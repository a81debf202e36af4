namespace Weir.Lab.Report.Page.Figures;

/// <summary>The rates of the rounds of each arm, for results that have no number of workers to draw them over.</summary>
internal static class RatesFigure
{
    private const int MostRows = 24;
    private const double WideRange = 30;

    public static Figure? Make(ResultFile result)
    {
        ArmRecord[] arms = [.. result.Arms.Where(static a => a.IsMeasured)];
        if (arms.Length == 0 || arms.Select(static a => a.Workers).Distinct().Count() > 1)
        {
            return null;
        }

        string[] names = [.. result.Names()];
        ArmRecord[] rows = [.. arms.Take(MostRows)];
        double[] values = [.. rows.SelectMany(static a => a.Counted).Select(static r => r.Rate).Where(static r => r > 0)];
        if (values.Length == 0)
        {
            return null;
        }

        Scale rate = values.Max() / values.Min() > WideRange
            ? Scale.Logarithmic(values, Scale.Compact)
            : Scale.Linear(values, Scale.Compact, from: values.Min());

        PlotFrame Draw(int width)
        {
            PlotFrame plot = PlotFrame.OfRows(width, rows.Length, rate, $"{result.Unit}/s");
            for (int i = 0; i < rows.Length; i++)
            {
                int series = Array.IndexOf(names, rows[i].Name);
                MedianInterval interval = rows[i].RateInterval();
                plot.Row(i, $"{rows[i].Label}: {Numbers.Rate(interval.Median)}");
                foreach (RoundRecord round in rows[i].Counted)
                {
                    plot.Dot(i, round.Rate, series);
                }

                plot.Span(i, interval.Low, interval.High, series);
                plot.Mark(i, interval.Median, series);
            }

            return plot;
        }

        return new Figure(
            "rates",
            "Rates of the rounds",
            "A ring is a round, the filled mark is the median. The line is the median's interval between two of the rounds, with at least 95 % certainty from "
            + "six "
                + "rounds on.",
            [],
            [new Panel("", Draw)],
            Table.Of(
                "Rates of the rounds",
                1,
                arms,
                ("arm", static a => a.Name),
                (Table.Workers, static a => Numbers.Grouped(a.Workers)),
                ("median", static a => Numbers.Rate(a.RateInterval().Median)),
                ("interval", static a => ResultTables.Interval(a.RateInterval())),
                ("rounds", static a => string.Join(" ", a.Counted.Select(static r => Numbers.Rate(r.Rate))))));
    }
}
