namespace Weir.Tables.Page;

/// <summary>The clock of the processors, as the system says. It is not what they did at each moment: a virtual machine shows the usual one.</summary>
internal static class ProcessorClock
{
    private const string Source = "/proc/cpuinfo";
    private const string Line = "cpu MHz";

    /// <summary>As a text for the origin of a page, such as <c>clock 2.45 GHz</c>; empty where the system does not say.</summary>
    public static string Text() => File.Exists(Source) ? TextOf(File.ReadLines(Source)) : "";

    internal static string TextOf(IEnumerable<string> lines)
    {
        double[] clocks =
        [
            .. lines.Where(static line => line.StartsWith(Line, StringComparison.Ordinal))
                .Select(static line => double.Parse(line[(line.IndexOf(':', StringComparison.Ordinal) + 1)..], CultureInfo.InvariantCulture)),
        ];
        return clocks.Length == 0 ? "" : Invariant($"clock {Spread.Of(clocks).Median / 1000:0.00} GHz");
    }
}
