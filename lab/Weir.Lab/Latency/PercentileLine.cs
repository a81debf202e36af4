namespace Weir.Lab.Latency;

/// <summary>One line of a percentile spectrum.</summary>
/// <param name="Nanoseconds">The latency that this share of all latencies does not exceed.</param>
/// <param name="Percentile">The share, from 0 to 100.</param>
/// <param name="Count">How many latencies lie at or below it.</param>
internal readonly record struct PercentileLine(long Nanoseconds, double Percentile, long Count)
{
    /// <summary>The inverse of the share that lies above; infinite on the last line. On a logarithmic axis it spreads the tail.</summary>
    public double Inverse => Percentile >= 100 ? double.PositiveInfinity : 100 / (100 - Percentile);
}
