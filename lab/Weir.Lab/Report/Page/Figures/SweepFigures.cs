namespace Weir.Lab.Report.Page.Figures;

/// <summary>How fast each arm was with each number of workers, and the scaling law through it.</summary>
internal static class ThroughputFigure
{
    private const int Height = 300;
    private const int CurvePoints = 60;

    /// <summary>The figure; <see langword="null"/> where nothing was measured with several numbers of workers, over which there is nothing to see.</summary>
    /// <remarks>Things that have each a number of their own, such as runtimes, are no curve over it.</remarks>
    public static Figure? Make(ResultFile result)
    {
        string[] names = [.. result.Names()];
        ArmRecord[] arms = [.. Answer.Swept(result.Arms.Where(static a => a.IsMeasured)).SelectMany(static series => series)];
        if (arms.Length == 0)
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
                    plot.Rate(arm.Workers, arm, i, shift);
                }
            }

            return plot;
        }

        return new Figure(
            "throughput",
            "Throughput by workers",
            Reading.OfRates(arms) + (fits.Length > 0 ? " The dashed curve is the fitted scaling law." : ""),
            [.. names.Select(static (n, i) => (i, n, false)).Where(x => arms.Any(a => a.Name == x.n)), .. fits.Select(f => (Array.IndexOf(names, f.Name), $"{f.Name}: scaling law", true))],
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

/// <summary>How to read points of rates.</summary>
internal static class Reading
{
    /// <summary>The sentences under a figure of some arms.</summary>
    public static string OfRates(IReadOnlyList<ArmRecord> arms)
    {
        bool haveIntervals = arms.Any(static a => a.RateInterval().IsUsual);
        bool lackThem = arms.Any(static a => a.Counted.Count > 1 && !a.RateInterval().IsUsual);
        return "A point is the median of the rounds."
            + (haveIntervals ? " The whisker is the median's interval, of 95 % or more." : "")
            + (lackThem ? " A ring is a round, where there are too few for an interval: six are needed." : "");
    }
}

/// <summary>How fast each arm was with each value of a parameter that the run varied.</summary>
internal static class ParameterFigure
{
    private const int Height = 300;
    private const int LeastValues = 2;

    private static readonly Dictionary<string, double> Units = new(StringComparer.OrdinalIgnoreCase)
    {
        [""] = 1, ["ns"] = 1e-9, ["us"] = 1e-6, ["ms"] = 1e-3, ["s"] = 1, ["min"] = 60,
        ["B"] = 1, ["KB"] = 1L << 10, ["MB"] = 1L << 20, ["GB"] = 1L << 30, ["KiB"] = 1L << 10, ["MiB"] = 1L << 20, ["GiB"] = 1L << 30,
    };

    /// <summary>A figure for each parameter whose values are numbers.</summary>
    public static IEnumerable<Figure> All(ResultFile result)
    {
        ArmRecord[] arms = [.. result.Arms.Where(static a => a.IsMeasured)];
        foreach (string name in arms.SelectMany(static a => a.Varied.Keys).Distinct())
        {
            (ArmRecord Arm, string Text, double Value)[] points =
                [.. arms.Where(a => a.Varied.ContainsKey(name)).Select(a => (a, a.Varied[name], ValueOf(a.Varied[name])))];
            if (points.All(static p => double.IsFinite(p.Value)) && points.Select(static p => p.Value).Distinct().Count() >= LeastValues)
            {
                yield return Make(result, name, points);
            }
        }
    }

    /// <summary>A number, with a unit of time or of bytes or without one; not a number for any other text.</summary>
    internal static double ValueOf(string text)
    {
        int digits = text.AsSpan().LastIndexOfAnyInRange('0', '9') + 1;
        return Units.TryGetValue(text[digits..].Trim(), out double unit)
            && double.TryParse(text.AsSpan(0, digits), NumberStyles.Float, CultureInfo.InvariantCulture, out double value) ? value * unit : double.NaN;
    }

    private static Figure Make(ResultFile result, string name, (ArmRecord Arm, string Text, double Value)[] points)
    {
        bool severalWorkers = points.Select(static p => p.Arm.Workers).Distinct().Count() > 1;
        string Series(ArmRecord arm)
        {
            string others = arm.Name.Replace($" {name}={arm.Varied[name]}", "", StringComparison.Ordinal);
            return severalWorkers ? $"{others} x {arm.Workers}" : others;
        }

        string[] series = [.. points.Select(p => Series(p.Arm)).Distinct()];
        Scale axis = Scale.Measured(points.Select(static p => (p.Value, p.Text)));
        Scale rate = Scale.Linear(points.Select(static p => p.Arm.Rate().Max), Scale.Compact);
        PlotFrame Draw(int width)
        {
            PlotFrame plot = new(width, Height, axis, rate, name, $"{result.Unit}/s");
            for (int i = 0; i < series.Length; i++)
            {
                int shift = (int)((i - ((series.Length - 1) / 2.0)) * 7);
                (ArmRecord Arm, string Text, double Value)[] own = [.. points.Where(p => Series(p.Arm) == series[i]).OrderBy(static p => p.Value)];
                plot.Line(own.Select(static p => (p.Value, p.Arm.Rate().Median)), i);
                foreach ((ArmRecord arm, _, double value) in own)
                {
                    plot.Rate(value, arm, i, shift);
                }
            }

            return plot;
        }

        string title = $"Throughput by {name}";
        return new Figure(
            $"by-{new string([.. name.ToLowerInvariant().Where(char.IsAsciiLetterOrDigit)])}",
            title,
            Reading.OfRates([.. points.Select(static p => p.Arm)]),
            [.. series.Select(static (s, i) => (i, s, false))],
            [new Panel("", Draw)],
            Table.Of(
                title,
                2,
                points,
                ("series", p => Series(p.Arm)),
                (name, static p => p.Text),
                ("median", static p => Numbers.Rate(p.Arm.Rate().Median)),
                ("lowest", static p => Numbers.Rate(p.Arm.Rate().Min)),
                ("highest", static p => Numbers.Rate(p.Arm.Rate().Max))));
    }
}
