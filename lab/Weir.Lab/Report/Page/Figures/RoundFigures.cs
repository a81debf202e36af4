namespace Weir.Lab.Report.Page.Figures;

/// <summary>Every round in the order of the run, beside what the canary said of the machine just then.</summary>
internal static class RoundsFigure
{
    private const int Height = 260;

    public static Figure Make(ResultFile result)
    {
        string[] names = [.. result.Names()];
        (ArmRecord Arm, RoundRecord Round, double Relative)[] rounds =
        [
            .. result.Arms.Where(static a => a.IsMeasured)
                .SelectMany(static a => a.Rounds.Where(static r => !r.Partial), static (a, r) => (a, r, r.Rate / a.Rate().Median))
                .OrderBy(static x => x.r.Order),
        ];
        (int Order, double Speed)[] canary =
            [.. rounds.Where(static x => x.Round.CanarySlowness > 0).Select(static x => (x.Round.Order, 1 / x.Round.CanarySlowness!.Value))];
        int last = rounds.Length > 0 ? rounds.Max(static x => x.Round.Order) : 1;
        int step = Math.Max(1, last / 12);
        Scale order = Scale.Numbered(0.5, last + 0.5, Enumerable.Range(1, last).Where(i => i % step == 0 || i == 1).Select(static i => ((double)i, $"{i}")));
        Scale relative = Scale.Linear(
            rounds.Select(static x => x.Relative).Concat(canary.Select(static c => c.Speed)).Append(1),
            static v => FormattableString.Invariant($"{v:0.##}x"));

        PlotFrame Draw(int width)
        {
            PlotFrame plot = new(width, Height, order, relative, "round, in the order of the run", "relative to the arm's median");
            plot.Horizontal(1);
            plot.Line(canary.Select(static c => ((double)c.Order, c.Speed)), names.Length, dashed: true);
            foreach ((ArmRecord arm, RoundRecord round, double value) in rounds)
            {
                plot.Point(round.Order, value, Array.IndexOf(names, arm.Name));
            }

            return plot;
        }

        return new Figure(
            "rounds",
            "Rounds in order",
            canary.Length > 0
                ? "Each round's rate, relative to the median of its arm. The dashed line is the canary: how fast a fixed piece of work ran just before "
                    + "the round; 1 is an undisturbed machine. Where both fall together, the machine was disturbed."
                : "Each round's rate, relative to the median of its arm.",
            [.. names.Select(static (n, i) => (i, n, false)), .. canary.Length > 0 ? [(names.Length, "canary", true)] : Array.Empty<(int, string, bool)>()],
            [new Panel("", Draw)],
            ResultTables.Rounds(result));
    }
}

/// <summary>The rates of the rounds of each arm that was measured with a single number of workers, so that there is nothing to draw them over.</summary>
internal static class RatesFigure
{
    private const int MostRows = 24;
    private const double WideRange = 30;

    public static Figure? Make(ResultFile result)
    {
        ArmRecord[] measured = [.. result.Arms.Where(static a => a.IsMeasured)];
        string[] swept = [.. Answer.Swept(measured).Select(static series => series.Key)];
        ArmRecord[] arms = [.. measured.Where(a => !swept.Contains(a.Name))];
        if (arms.Length == 0)
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

                if (interval.IsUsual)
                {
                    plot.Span(i, interval.Low, interval.High, series);
                }

                plot.Mark(i, interval.Median, series);
            }

            return plot;
        }

        return new Figure(
            "rates",
            "Rates of the rounds",
            "A ring is a round, the filled mark is the median."
                + (arms.Any(static a => a.RateInterval().IsUsual) ? " The line is the median's interval between two of the rounds, of 95 % or more." : "")
                + (arms.Any(static a => !a.RateInterval().IsUsual) ? " Fewer than six rounds have no interval." : ""),
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

/// <summary>Each comparison as a ratio with its interval, beside the zone in which two things count as equal.</summary>
internal static class RatioFigure
{
    private const int MostRows = 24;
    private const double WideRange = 6;

    public static Figure? Make(ResultFile result)
    {
        ComparisonRecord[] all = [.. result.Comparisons.Where(static c => c.Figure != ComparedFigure.Bytes)];
        if (all.Length == 0)
        {
            return null;
        }

        ComparisonRecord[] rows = [.. all.Take(MostRows)];
        double margin = rows.Max(static c => c.Margin);
        double[] values = [.. rows.SelectMany(static c => c.HasInterval ? new[] { c.Speed.Value, c.Speed.Low, c.Speed.High } : [c.Speed.Value])
            .Where(static v => double.IsFinite(v) && v > 0), 1 / (1 + margin), 1 + margin];
        Scale ratio = values.Max() / values.Min() > WideRange
            ? Scale.Logarithmic(values, static v => FormattableString.Invariant($"{v:0.##}x"))
            : Scale.Linear(values, static v => FormattableString.Invariant($"{v:0.###}x"), from: values.Min());

        PlotFrame Draw(int width)
        {
            PlotFrame plot = PlotFrame.OfRows(width, rows.Length, ratio, "times as fast");
            plot.Zone(1 / (1 + margin), 1 + margin);
            plot.Vertical(1, "");
            for (int i = 0; i < rows.Length; i++)
            {
                ComparisonRecord row = rows[i];
                plot.Row(i, $"{VerdictWords.Of(row.Verdict)}{(row.Figure == ComparedFigure.Rate ? "" : $" by {FigureWords.Of(row.Figure)}")}: {row.Arm} against {row.Against}");
                if (row.HasInterval)
                {
                    plot.Span(i, row.Speed.Low, row.Speed.High, i);
                }

                plot.Mark(i, row.Speed.Value, i);
            }

            return plot;
        }

        return new Figure(
            "ratio",
            "How many times as fast",
            FormattableString.Invariant(
                $"By rates, and by the latencies that are named: the point is the estimate, the line is its {(1 - rows[0].Alpha) * 100:0.#} % interval. Within the shaded ")
                    + FormattableString.Invariant($"zone ({margin * 100:0.#} % either way) two things count as equal; a line that leaves it on both sides of ")
                    + FormattableString.Invariant($"an edge leaves the question open.")
                + (rows.All(static c => c.HasInterval) ? "" : " A point without a line has too few values for an interval.")
                + (all.Length > MostRows ? $" The first {MostRows} are drawn; the table has all." : ""),
            [],
            [new Panel("", Draw)],
            ResultTables.Comparisons(result)!);
    }
}

/// <summary>How much each worker did, to show whether some starve.</summary>
internal static class WorkersFigure
{
    private const int Height = 130;
    private const int MostTicks = 9;
    private const int MostPanels = 8;

    public static Figure? Make(ResultFile result)
    {
        string[] names = [.. result.Names()];
        (ArmRecord Arm, double[] Shares)[] arms =
            [.. result.Arms.Where(static a => a.IsMeasured).Select(static a => (a, Shares(a))).Where(static x => x.Item2.Length > 1)];
        if (arms.Length == 0)
        {
            return null;
        }

        Scale share = Scale.Linear(arms.SelectMany(static x => x.Shares).Append(1), static v => FormattableString.Invariant($"{v:0.##}x"));
        PlotFrame Draw(ArmRecord arm, double[] shares, int width)
        {
            int step = (shares.Length + MostTicks - 1) / MostTicks;
            Scale workers =
                Scale.Numbered(0, shares.Length, Enumerable.Range(0, shares.Length).Where(i => i % step == 0).Select(static i => (i + 0.5, $"{i + 1}")));
            PlotFrame plot = new(width, Height, workers, share, "", $"{arm.Label}: share of each worker; 1x is an equal share");
            for (int i = 0; i < shares.Length; i++)
            {
                plot.Bar(i + 0.1, i + 0.9, shares[i], Array.IndexOf(names, arm.Name));
            }

            plot.Horizontal(1);
            return plot;
        }

        return new Figure(
            "workers",
            "Work of each worker",
            "The work of each worker in all rounds together; 1x is an equal share."
                + (arms.Length > MostPanels ? $" The {MostPanels} arms with the most workers are drawn; the table has all." : ""),
            [.. names.Select(static (n, i) => (i, n, false)).Where(x => arms.Any(a => a.Arm.Name == x.n))],
            [.. arms.OrderByDescending(static x => x.Arm.Workers).Take(MostPanels).Select(x => new Panel("", width => Draw(x.Arm, x.Shares, width)))],
            Table.Of(
                "Work of each worker",
                1,
                arms,
                ("arm", static x => x.Arm.Name),
                ("workers", static x => Numbers.Grouped(x.Arm.Workers)),
                ("least", static x => FormattableString.Invariant($"{x.Shares.Min():0.000}x")),
                ("most", static x => FormattableString.Invariant($"{x.Shares.Max():0.000}x")),
                ("Jain's index",
                    static x => x.Arm.Mean(static r => ResultTables.Jain(r.PerWorker)) is { } jain ? FormattableString.Invariant($"{jain:0.000}") : null),
                ("longest gap", static x => x.Arm.Max(static r => r.LongestGapSeconds) is { } gap ? Numbers.Nanoseconds(gap * 1e9) : null),
                ("each worker", static x => string.Join(" ", x.Shares.Select(static s => FormattableString.Invariant($"{s:0.00}"))))));
    }

    private static double[] Shares(ArmRecord arm)
    {
        long[][] rounds = [.. arm.Counted.Select(static r => r.PerWorker.ToArray()).Where(static w => w.Length > 0)];
        if (rounds.Length == 0)
        {
            return [];
        }

        double[] sums = [.. Enumerable.Range(0, rounds.Min(static w => w.Length)).Select(i => rounds.Sum(w => (double)w[i]))];
        double mean = sums.Average();
        return mean > 0 ? [.. sums.Select(s => s / mean)] : [];
    }
}
