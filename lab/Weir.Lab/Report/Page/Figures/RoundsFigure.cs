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
