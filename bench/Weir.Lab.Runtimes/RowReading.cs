using System.Globalization;

namespace Weir.Lab.Runtimes;

/// <summary>What a process measured of a row; a way that the row has not has no number.</summary>
/// <param name="Row">The row's index among all.</param>
/// <param name="Weir">Nanoseconds of a run of Weir's.</param>
/// <param name="WeirBytes">Its bytes.</param>
/// <param name="Platform">Nanoseconds of a run of the platform's.</param>
/// <param name="PlatformBytes">Its bytes.</param>
internal sealed record RowReading(int Row, double Weir, double WeirBytes, double Platform, double PlatformBytes)
{
    /// <summary>Reads a line that <see cref="ToString"/> wrote.</summary>
    public static RowReading Parse(string line)
    {
        double[] values = line.Split(' ').Select(static value => double.Parse(value, CultureInfo.InvariantCulture)).ToArray();
        return new RowReading((int)values[0], values[1], values[2], values[3], values[4]);
    }

    public override string ToString() =>
        string.Create(CultureInfo.InvariantCulture, $"{Row} {Weir:R} {WeirBytes:R} {Platform:R} {PlatformBytes:R}");
}
