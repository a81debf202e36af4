namespace Weir.Lab.Latency;

/// <summary>The system's finest clock, in nanoseconds.</summary>
internal static class Clock
{
    private static readonly double PerTick = 1e9 / Stopwatch.Frequency;
    private static readonly bool IsNanoseconds = Stopwatch.Frequency == 1_000_000_000;

    /// <summary>Nanoseconds that lie between two timestamps of <see cref="Stopwatch.GetTimestamp"/>.</summary>
    /// <returns>The nanoseconds; negative when the order is the other way round.</returns>
    public static long Nanoseconds(long from, long to) => IsNanoseconds ? to - from : (long)((to - from) * PerTick);

    /// <summary>A length of time in units of <see cref="Stopwatch.GetTimestamp"/>.</summary>
    public static long Ticks(TimeSpan time) => (long)(time.TotalSeconds * Stopwatch.Frequency);

    /// <summary>Measures what one reading of the clock costs here.</summary>
    /// <returns>Nanoseconds a reading: the least of several tries, because whatever disturbs a try makes it longer.</returns>
    public static double MeasureReadCost()
    {
        const int readings = 2_000;
        double best = double.MaxValue;
        for (int i = 0; i < 60; i++)
        {
            best = Math.Min(best, (double)TimeReadings(readings) / readings);
        }

        return best;
    }

    private static long TimeReadings(int readings)
    {
        long begin = Stopwatch.GetTimestamp();
        long last = begin;
        for (int i = 0; i < readings; i++)
        {
            last = Stopwatch.GetTimestamp();
        }

        return Nanoseconds(begin, last);
    }
}
