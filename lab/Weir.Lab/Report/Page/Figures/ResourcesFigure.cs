namespace Weir.Lab.Report.Page.Figures;

/// <summary>The processors and the memory that the measured processes used, over all rounds of the run.</summary>
internal static class ResourcesFigure
{
    private const int Height = 180;
    private const int MostTicks = 12;
    private const double Megabyte = 1 << 20;

    public static Figure? Make(ResultFile result)
    {
        string[] names = [.. result.Names()];
        (ArmRecord Arm, RoundRecord Round)[] rounds =
        [
            .. result.Arms.Where(static a => a.IsMeasured).SelectMany(static a => a.Rounds, static (a, r) => (a, r))
                .Where(static x => x.r.Timeline.Any(static p => p.Cores is not null)).OrderBy(static x => x.r.Order),
        ];
        if (rounds.Length == 0)
        {
            return null;
        }

        int last = rounds.Max(static x => x.Round.Order);
        int step = Math.Max(1, last / MostTicks);
        Scale order = Scale.Numbered(0, last, Enumerable.Range(1, last).Where(i => i % step == 0 || i == 1).Select(static i => (i - 0.5, $"{i}")));
        return new Figure(
            "resources",
            "Processors and memory over the run",
            "What the measuring process used, round by round in the order of the run. Rounds of different processes do not continue each other.",
            [.. names.Select(static (n, i) => (i, n, false))],
            [
                new Panel("", w => Plot(w, "", "processors", static p => p.Cores)),
                new Panel("", w => Plot(w, "round, in the order of the run", "resident memory, MB", static p => p.ResidentBytes / Megabyte)),
            ],
            Table.Of(
                "Processors and memory over the run",
                2,
                rounds,
                ("arm", static x => x.Arm.Label),
                ("round", static x => Numbers.Grouped(x.Round.Order)),
                ("processors", static x => FormattableString.Invariant($"{x.Round.Cores:0.00}")),
                ("resident at its end", static x => x.Round.Timeline[^1].ResidentBytes is { } bytes ? Numbers.Bytes(bytes) : null)));

        PlotFrame Plot(int width, string x, string y, Func<TimelineRecord, double?> value)
        {
            Scale scale = Scale.Linear(rounds.SelectMany(r => r.Round.Timeline.Select(value)).OfType<double>().Append(1), Scale.Compact);
            PlotFrame plot = new(width, Height, order, scale, x, y);
            foreach ((ArmRecord arm, RoundRecord round) in rounds)
            {
                double end = round.Timeline[^1].Second;
                plot.Line(
                    round.Timeline.Where(p => value(p) is not null).Select(p => (round.Order - 1 + (p.Second / end), value(p)!.Value)),
                    Array.IndexOf(names, arm.Name));
            }

            return plot;
        }
    }
}
