using System.Globalization;

namespace Weir.Lab.ColdStart;

/// <summary>What a process has measured of its first call.</summary>
/// <param name="Nanoseconds">How long the call took.</param>
/// <param name="Methods">How many methods were compiled for it.</param>
/// <param name="CompilingNanoseconds">How long that took, of all threads together.</param>
internal sealed record ColdReading(double Nanoseconds, double Methods, double CompilingNanoseconds)
{
    public static ColdReading Parse(string line)
    {
        double[] values = [.. line.Split(' ').Select(static value => double.Parse(value, CultureInfo.InvariantCulture))];
        return new ColdReading(values[0], values[1], values[2]);
    }

    public override string ToString() => string.Create(CultureInfo.InvariantCulture, $"{Nanoseconds:R} {Methods:R} {CompilingNanoseconds:R}");
}
