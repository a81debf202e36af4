namespace Weir.Lab.Report.Page.Figures;

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
