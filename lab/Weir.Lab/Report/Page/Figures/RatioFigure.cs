namespace Weir.Lab.Report.Page.Figures;

/// <summary>Each comparison as a ratio with its interval, beside the zone in which two things count as equal.</summary>
internal static class RatioFigure
{
    private const int MostRows = 24;
    private const double WideRange = 6;

    public static Figure? Make(ResultFile result)
    {
        ComparisonRecord[] all = [.. result.Comparisons.Where(static c => c.Figure == ComparedFigure.Rate)];
        if (all.Length == 0)
        {
            return null;
        }

        ComparisonRecord[] rows = [.. all.Take(MostRows)];
        double margin = rows.Max(static c => c.Margin);
        double[] values = [.. rows.SelectMany(static c => c.HasInterval ? new[] { c.Ratio, c.Low, c.High } : [c.Ratio])
            .Where(static v => double.IsFinite(v) && v > 0), 1 / (1 + margin), 1 + margin];
        Scale ratio = values.Max() / values.Min() > WideRange
            ? Scale.Logarithmic(values, static v => FormattableString.Invariant($"{v:0.##}x"))
            : Scale.Linear(values, static v => FormattableString.Invariant($"{v:0.###}x"), from: values.Min());

        PlotFrame Draw(int width)
        {
            PlotFrame plot = PlotFrame.OfRows(width, rows.Length, ratio, $"{result.Unit}/s as a multiple");
            plot.Zone(1 / (1 + margin), 1 + margin);
            plot.Vertical(1, "");
            for (int i = 0; i < rows.Length; i++)
            {
                ComparisonRecord row = rows[i];
                plot.Row(i, $"{VerdictWords.Of(row.Verdict)}: {row.Arm} against {row.Against}");
                plot.Span(i, row.HasInterval ? row.Low : ratio.Low, row.HasInterval ? row.High : ratio.High, i);
                plot.Mark(i, row.Ratio, i);
            }

            return plot;
        }

        return new Figure(
            "ratio",
            "Ratio with its interval",
            FormattableString.Invariant(
                $"The ratio of the rates: the point is the estimate, the line is its {(1 - rows[0].Alpha) * 100:0.#} % interval. Within the shaded ")
                    + FormattableString.Invariant($"zone ({margin * 100:0.#} % either way) two things count as equal; a line that leaves it on both sides of ")
                    + FormattableString.Invariant($"an edge leaves the question open.")
                + (all.Length > MostRows ? $" The first {MostRows} are drawn; the table has all." : ""),
            [],
            [new Panel("", Draw)],
            ResultTables.Comparisons(result)!);
    }
}
