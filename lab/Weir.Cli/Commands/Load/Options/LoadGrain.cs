using System.Globalization;
using Weir.Cli.Options;
using Weir.Lab.Formatting;

namespace Weir.Cli.Commands.Load.Options;

/// <summary>Reads how much work an item has: a number and a unit.</summary>
internal static class LoadGrain
{
    private static readonly (string Unit, double Seconds)[] Times = [("ns", 1e-9), ("us", 1e-6), ("µs", 1e-6), ("ms", 1e-3), ("s", 1)];
    private static readonly (string Unit, double Bytes)[] Sizes = [("KB", 1024), ("MB", 1024 * 1024), ("B", 1)];

    public static TimeSpan Time(OptionValue? given, string absent, TimeSpan min, TimeSpan max)
    {
        double? seconds = Parse(given?.Text ?? absent, Times);
        return seconds is { } value && value >= min.TotalSeconds - 1e-10 && value <= max.TotalSeconds
            ? TimeSpan.FromTicks((long)Math.Round(value * TimeSpan.TicksPerSecond))
            : throw given!.Bad($"a time from {Numbers.Time(min)} to {Numbers.Time(max)} such as {absent} for this workload");
    }

    public static int Bytes(OptionValue? given, string absent, int min, int max)
    {
        double? bytes = Parse(given?.Text ?? absent, Sizes);
        return bytes is { } value && value >= min && value <= max
            ? (int)value
            : throw given!.Bad($"a size from {Numbers.Bytes(min)} to {Numbers.Bytes(max)} such as {absent} for --workload alloc");
    }

    private static double? Parse(string text, (string Unit, double Factor)[] units)
    {
        foreach ((string unit, double factor) in units)
        {
            if (text.EndsWith(unit, StringComparison.OrdinalIgnoreCase)
                && double.TryParse(text.AsSpan(0, text.Length - unit.Length), NumberStyles.Float, CultureInfo.InvariantCulture, out double value))
            {
                return value * factor;
            }
        }

        return null;
    }
}
