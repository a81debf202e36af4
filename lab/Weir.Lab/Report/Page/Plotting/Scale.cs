namespace Weir.Lab.Report.Page.Plotting;

/// <summary>Maps values to positions on an axis, and knows where its ticks are.</summary>
internal sealed class Scale
{
    private const int MostSteps = 7;
    private static readonly double[] Steps = [1, 2, 5];

    private readonly Func<double, double> _shape;
    private readonly double _low;
    private readonly double _high;

    private Scale(Func<double, double> shape, double low, double high, IReadOnlyList<(double Value, string Label)> ticks)
    {
        _shape = shape;
        _low = shape(low);
        _high = shape(high);
        Low = low;
        High = high;
        Ticks = ticks;
    }

    /// <summary>The value at the beginning.</summary>
    public double Low { get; }

    /// <summary>The value at the end.</summary>
    public double High { get; }

    /// <summary>Where the ticks are and what they say.</summary>
    public IReadOnlyList<(double Value, string Label)> Ticks { get; }

    /// <summary>From zero, or from a lower value, to a round number above all values.</summary>
    public static Scale Linear(IEnumerable<double> values, Func<double, string> label, double from = 0)
    {
        double max = values.Where(double.IsFinite).DefaultIfEmpty(1).Max();
        double min = Math.Min(from, values.Where(double.IsFinite).DefaultIfEmpty(0).Min());
        double step = Step((max > min ? max - min : 1) / 4);
        double low = Math.Floor((min / step) + 1e-9) * step;
        double high = Math.Max(max > min ? low + step : low + 1, Math.Ceiling((max / step) - 1e-9) * step);
        List<(double, string)> ticks = [];
        for (double at = low; at <= high + (step / 2); at += step)
        {
            double value = Math.Abs(at) < step / 1e6 ? 0 : at;
            ticks.Add((value, label(value)));
        }

        return new Scale(static v => v, low, high, ticks);
    }

    /// <summary>Logarithmic, with a tick at each power of ten, or closer when there are few.</summary>
    public static Scale Logarithmic(IEnumerable<double> values, Func<double, string> label)
    {
        double[] known = [.. values.Where(static v => v > 0 && double.IsFinite(v)).DefaultIfEmpty(1)];
        (int low, int high) = ((int)Math.Floor(CountOf(known.Min()) + 1e-9), (int)Math.Ceiling(CountOf(known.Max()) - 1e-9));
        high = Math.Max(high, low + 1);
        bool all = high - low <= MostSteps;
        List<(double, string)> ticks = [];
        for (int at = low; at <= high; at++)
        {
            if (all || at % Steps.Length == 0)
            {
                ticks.Add((At(at), label(At(at))));
            }
        }

        return new Scale(Math.Log10, At(low), At(high), ticks);
    }

    /// <summary>Numbers of workers: logarithmic, with a tick at each number that was measured.</summary>
    public static Scale Workers(IEnumerable<int> workers)
    {
        int[] known = [.. workers.Distinct().Order()];
        double low = known[0] / 1.3;
        double high = known[^1] * 1.3;
        return new Scale(Math.Log2, low, high, [.. known.Select(static n => ((double)n, n.ToString(CultureInfo.InvariantCulture)))]);
    }

    /// <summary>Values with a tick at each that was measured: logarithmic when they are above zero and far apart.</summary>
    public static Scale Measured(IEnumerable<(double Value, string Label)> values)
    {
        (double Value, string Label)[] known = [.. values.DistinctBy(static v => v.Value).OrderBy(static v => v.Value)];
        (double low, double high) = (known[0].Value, known[^1].Value);
        double room = high > low ? (high - low) * 0.1 : 1;
        return low > 0 && high / low >= 4
            ? new Scale(Math.Log2, low / 1.3, high * 1.3, known)
            : new Scale(static v => v, low - room, high + room, known);
    }

    /// <summary>Shares below which a part of all values lies, stretched towards the end.</summary>
    public static Scale Percentiles(double mostInverse)
    {
        double high = Math.Max(10, mostInverse);
        List<(double, string)> ticks = [(1, "0")];
        string label = "90";
        for (double at = 10; at <= high * 1.0001; at *= 10)
        {
            ticks.Add((at, label));
            label = label == "90" ? "99" : label == "99" ? "99.9" : label + "9";
        }

        return new Scale(Math.Log10, 1, high, ticks);
    }

    /// <summary>A linear scale with these ticks only.</summary>
    public static Scale Numbered(double low, double high, IEnumerable<(double Value, string Label)> ticks) => new(static v => v, low, high, [.. ticks]);

    /// <summary>A number as short as it goes, for a tick.</summary>
    public static string Compact(double value) => Math.Abs(value) switch
    {
        >= 1e9 => string.Create(CultureInfo.InvariantCulture, $"{value / 1e9:0.##} G"),
        >= 1e6 => string.Create(CultureInfo.InvariantCulture, $"{value / 1e6:0.##} M"),
        >= 1e4 => string.Create(CultureInfo.InvariantCulture, $"{value / 1e3:0.##} k"),
        _ => string.Create(CultureInfo.InvariantCulture, $"{value:0.##}"),
    };

    /// <summary>The position of a value, from 0 to 1; outside for values beyond the ends.</summary>
    public double Position(double value) => (_shape(value) - _low) / (_high - _low);

    // 1, 2, 5, 10, 20, 50 ... are counted as 0, 1, 2, 3, 4, 5 ...
    private static double At(int count) =>
        Steps[((count % Steps.Length) + Steps.Length) % Steps.Length] * Math.Pow(10, Math.Floor(count / (double)Steps.Length));

    private static double CountOf(double value)
    {
        double decade = Math.Floor(Math.Log10(value));
        double rest = value / Math.Pow(10, decade);
        double within = rest < 2 ? Math.Log2(rest) : rest < 5 ? 1 + Math.Log(rest / 2, 2.5) : 2 + Math.Log2(rest / 5);
        return (decade * Steps.Length) + within;
    }

    private static double Step(double rough)
    {
        double power = Math.Pow(10, Math.Floor(Math.Log10(rough)));
        return (rough / power) switch
        {
            <= 1.0001 => power,
            <= 2.0001 => 2 * power,
            <= 5.0001 => 5 * power,
            _ => 10 * power,
        };
    }
}
