namespace Weir.Lab.Benchmarks.Reporting;

/// <summary>Writes figures so that each has the unit that suits it.</summary>
internal static class FigureFormat
{
    private static readonly CultureInfo Culture = CultureInfo.InvariantCulture;

    public static string Count(double value) => value.ToString(value < 1_000 ? "0.##" : "N0", Culture);

    public static string Time(double nanoseconds) => nanoseconds switch
    {
        < 1e3 => nanoseconds.ToString("0", Culture) + " ns",
        < 1e6 => (nanoseconds / 1e3).ToString("0.##", Culture) + " us",
        < 1e9 => (nanoseconds / 1e6).ToString("0.##", Culture) + " ms",
        _ => (nanoseconds / 1e9).ToString("0.##", Culture) + " s",
    };

    public static string Bytes(double bytes) =>
        bytes < 0.5 ? "-" : bytes < 10_000 ? bytes.ToString("N0", Culture) + " B" : (bytes / 1024).ToString("N1", Culture) + " KB";

    public static string Percent(double percent) => percent.ToString("0", Culture) + " %";

    public static string Ratio(double ratio) => ratio.ToString("0.00", Culture);

    public static string Depth(double depth) => depth.ToString("0.##", Culture);
}
