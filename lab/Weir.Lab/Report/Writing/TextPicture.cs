namespace Weir.Lab.Report.Writing;

/// <summary>The one picture of a result in text, below its answer: ratios with their intervals, rates as bars, or the rounds of a single arm.</summary>
internal static class TextPicture
{
    private const int UsualWidth = 80;
    private const int LeastWidth = 40;
    private const int MostRows = 16;
    private const int MostName = 30;
    private const string Edge = "  ";

    // Beyond it the shorter bars could not be told apart.
    private const double WideRange = 40;

    /// <summary>The lines; none where there is nothing to see.</summary>
    /// <param name="result">The result.</param>
    /// <param name="width">How long a line may be; <see langword="null"/> for the usual width of a terminal, so that files have it too.</param>
    public static IReadOnlyList<string> Of(ResultFile result, int? width)
    {
        int most = Math.Max(LeastWidth, Math.Min(width ?? UsualWidth, 2 * UsualWidth));
        ComparisonRecord[] timed = [.. result.Comparisons.Where(static c => c.Figure != ComparedFigure.Bytes)];
        ArmRecord[] arms = [.. result.Arms.Where(static a => a.OrPart().IsMeasured)];
        return arms.Length == 0 ? []
            : arms is [var only] ? Rounds(result, only.OrPart(), most)
            : timed.Length > 0 && !arms.Any(static a => a.HasPasses) ? Ratios([.. timed.Take(MostRows)], timed.Length, most)
            : Bars(result, [.. arms.Take(MostRows)], arms.Length, most);
    }

    // One row a figure: the point, and the interval where there is one. The margin is shaded.
    private static string[] Ratios(ComparisonRecord[] rows, int all, int width)
    {
        (string Name, double Low, double Speed, double High, bool HasInterval)[] speeds =
        [
            .. rows.Select(static c => (c.Figure == ComparedFigure.Rate ? c.Arm : $"{c.Arm}, {FigureWords.Of(c.Figure)}",
                c.Speed.Low, c.Speed.Value, c.Speed.High, c.HasInterval)),
        ];
        double margin = 1 + rows.Max(static c => c.Margin);
        double[] values = [1 / margin, margin, .. speeds.SelectMany(static s => s.HasInterval ? new[] { s.Low, s.Speed, s.High } : [s.Speed])
            .Where(static v => double.IsFinite(v) && v > 0)];

        // The logarithm, so that twice as fast is as far from 1 as half as fast.
        (double low, double high) = (Math.Log(values.Min()), Math.Log(values.Max()));
        int name = Math.Min(MostName, speeds.Max(static s => s.Name.Length));
        int room = width - Edge.Length - name - 2;
        int At(double value) => (int)Math.Round((Math.Log(value) - low) / (high - low) * (room - 1));
        string Row(int from, int to, int point)
        {
            char[] line = new string(' ', room).ToCharArray();
            Array.Fill(line, '░', At(1 / margin), At(margin) - At(1 / margin) + 1);
            line[At(1)] = '│';
            if (to > from)
            {
                Array.Fill(line, '─', from, to - from + 1);
                (line[from], line[to]) = ('├', '┤');
                line[At(1)] = At(1) > from && At(1) < to ? '┼' : line[At(1)];
            }

            line[point] = '●';
            return new string(line).TrimEnd();
        }

        string axis = Axis(room, [(At(1), "1x"), (0, Times(values.Min())), (room - 1, Times(values.Max()))]);
        string head = FormattableString.Invariant($"How many times as fast as {string.Join(", ", rows.Select(static c => c.Against).Distinct().Take(1))}")
            + (rows.Select(static c => c.Against).Distinct().Count() > 1 ? " or what it is compared with" : "")
            + FormattableString.Invariant($" (shaded: the margin of {(margin - 1) * 100:0.#} %)");
        return
        [
            Head(head, width),
            .. speeds.Select(s => $"{Edge}{ProfileTables.Shortened(s.Name, name).PadRight(name)}  "
                + (s.HasInterval ? Row(At(s.Low), At(s.High), At(s.Speed)) : Row(0, 0, At(s.Speed)))),
            $"{Edge}{"".PadRight(name)}  {axis}",
            .. More(rows.Length, all),
        ];
    }

    // The rounds of the only arm on one line, with the interval of their median where there are enough for one.
    private static string[] Rounds(ResultFile result, ArmRecord arm, int width)
    {
        double Value(double rate) => arm.IsProgram ? 1 / rate : rate;
        string Text(double value) => arm.IsProgram ? Numbers.Nanoseconds(value * 1e9) : Numbers.Rate(value);
        double[] values = [.. arm.Counted.Where(static r => r.Rate > 0).Select(r => Value(r.Rate))];
        if (values.Length < 3 || !(values.Max() > values.Min()))
        {
            return [];
        }

        MedianInterval interval = arm.RateInterval();
        (double low, double high) = (values.Min(), values.Max());
        int room = width - (2 * Edge.Length);
        int At(double value) => (int)Math.Round((value - low) / (high - low) * (room - 1));
        char[] line = new string(' ', room).ToCharArray();
        if (interval.IsUsual)
        {
            int[] ends = [.. new[] { At(Value(interval.Low)), At(Value(interval.High)) }.Order()];
            Array.Fill(line, '─', ends[0], ends[1] - ends[0] + 1);
            (line[ends[0]], line[ends[1]]) = ('├', '┤');
        }

        foreach (double value in values)
        {
            line[At(value)] = '○';
        }

        line[At(Value(interval.Median))] = '●';
        return
        [
            Head((arm.IsProgram ? "Time of each run" : $"{char.ToUpperInvariant(result.Unit[0])}{result.Unit[1..]} per second of each round")
                + $" (○), {(interval.IsUsual ? "their median (●) and its interval" : "and their median (●)")}", width),
            Edge + new string(line).TrimEnd(),
            Edge + Axis(room, [(0, Text(low)), (room - 1, Text(high)), (At(Value(interval.Median)), Text(Value(interval.Median)))]),
        ];
    }

    // Full up to the lower end of the interval, and light from there to the upper end.
    private static string[] Bars(ResultFile result, ArmRecord[] rows, int all, int width)
    {
        bool arePrograms = rows.All(static a => a.IsProgram);
        (string Name, double Low, double Value, double High, string Text)[] bars =
        [
            .. rows.Select(a =>
            {
                MedianInterval rate = a.OrPart().RateInterval();
                (double low, double high) = rate.IsUsual ? (rate.Low, rate.High) : (rate.Median, rate.Median);
                return arePrograms ? (a.Name, 1e9 / high, 1e9 / rate.Median, 1e9 / low, Numbers.Nanoseconds(1e9 / rate.Median))
                    : (NameOf(rows, a), low, rate.Median, high, Numbers.Rate(rate.Median));
            }),
        ];
        double most = bars.Max(static b => b.High);
        if (most <= 0 || most / bars.Min(static b => b.Value) > WideRange)
        {
            return [];
        }

        int name = Math.Min(MostName, bars.Max(static b => b.Name.Length));
        int text = bars.Max(static b => b.Text.Length);
        int room = width - Edge.Length - name - text - 4;
        string Bar(double low, double high)
        {
            int full = Math.Max(1, (int)Math.Round(low / most * room));
            return new string('█', full) + new string('▒', Math.Max(0, (int)Math.Round(high / most * room) - full));
        }

        return
        [
            arePrograms ? "Time of a run" : $"{char.ToUpperInvariant(result.Unit[0])}{result.Unit[1..]} per second",
            .. bars.Select(b => $"{Edge}{ProfileTables.Shortened(b.Name, name).PadRight(name)}  {b.Text.PadLeft(text)}  {Bar(b.Low, b.High)}"),
            .. More(rows.Length, all),
        ];
    }

    private static string NameOf(ArmRecord[] rows, ArmRecord arm) => rows.All(a => a.Workers == arm.Workers) || arm.HasPasses || arm.HasQueue ? Answer.NameOf(arm)
        : rows.All(a => a.Name == arm.Name) ? Numbers.Counted(arm.Workers, "worker")
        : arm.Label;

    private static string[] More(int shown, int all) => shown == all ? [] : [$"{Edge}(the first {shown} of {Numbers.Grouped(all)})"];

    private static string Head(string text, int width) => text.Length <= width ? text : text[..(width - 1)] + "…";

    private static string Times(double factor) =>
        (factor is >= 10 ? FormattableString.Invariant($"{factor:0}") : factor is > 1.2 or < 0.8 ? FormattableString.Invariant($"{factor:0.0#}")
            : FormattableString.Invariant($"{factor:0.000}")) + "x";

    // Labels under their places, those that come first before those that have no room beside them.
    private static string Axis(int room, (int At, string Text)[] labels)
    {
        char[] line = new string(' ', room).ToCharArray();
        foreach ((int at, string text) in labels)
        {
            int from = Math.Clamp(at - (text.Length / 2), 0, Math.Max(0, room - text.Length));
            int before = Math.Max(0, from - 1);
            if (from + text.Length <= room && line.AsSpan(before, Math.Min(room, from + text.Length + 1) - before).IndexOfAnyExcept(' ') < 0)
            {
                text.CopyTo(line.AsSpan(from));
            }
        }

        return new string(line).TrimEnd();
    }
}
