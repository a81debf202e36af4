namespace Weir.Lab.Latency;

/// <summary>Latencies come in steps: whole nanoseconds, and the buckets of the histogram above a microsecond.</summary>
internal static class LatencySteps
{
    /// <summary>By how much the logarithm of the ratio of two latencies may be off, because each may lie anywhere in its step.</summary>
    /// <param name="first">A latency without the reading of the clock, in nanoseconds.</param>
    /// <param name="second">Another one.</param>
    /// <param name="clock">The reading of the clock that was taken off both.</param>
    public static double OfRatio(double first, double second, double clock) => Share(first, clock) + Share(second, clock);

    private static double Share(double latency, double clock) => HistogramLayout.WidthOf(HistogramLayout.IndexOf((long)(latency + clock))) / 2.0 / latency;
}
