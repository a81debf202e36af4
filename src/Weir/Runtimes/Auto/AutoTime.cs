using System.Diagnostics;
using System.Globalization;

namespace Weir.Runtimes;

/// <summary>A time in Stopwatch ticks, whose text has a suitable unit.</summary>
internal readonly struct AutoTime(double ticks)
{
    /// <summary>The time as text.</summary>
    public override string ToString()
    {
        double nanoseconds = ticks / Stopwatch.Frequency * 1e9;
        return nanoseconds switch
        {
            < 1e3 => string.Create(CultureInfo.InvariantCulture, $"{nanoseconds:0.#} ns"),
            < 1e6 => string.Create(CultureInfo.InvariantCulture, $"{nanoseconds / 1e3:0.#} us"),
            _ => string.Create(CultureInfo.InvariantCulture, $"{nanoseconds / 1e6:0.#} ms"),
        };
    }
}
