namespace Weir.Lab.Latency;

/// <summary>A percentile that the data is sufficient for.</summary>
/// <param name="Percentile">Which, from 0 to 100.</param>
/// <param name="Nanoseconds">The latency; where <paramref name="IsBound"/> says so, an upper bound of it.</param>
/// <param name="Beyond">How many latencies lie beyond it, at least one.</param>
/// <param name="IsBound">Whether the clock cannot resolve it: it is at most so long.</param>
internal readonly record struct KnownPercentile(double Percentile, double Nanoseconds, long Beyond, bool IsBound)
{
    private const double Readings = 2;

    /// <summary>The percentiles that are shown and written.</summary>
    public static IReadOnlyList<double> Usual { get; } = [50, 90, 99, 99.9, 99.99];

    /// <summary>A percentile of some latencies.</summary>
    /// <param name="latency">The latencies. Nobody may be recording in it.</param>
    /// <param name="percentile">Which, from 0 to 100.</param>
    /// <param name="clockCost">
    /// What a reading of the clock costs, in nanoseconds: each latency has one in it, and below two of them the clock tells nothing.
    /// </param>
    /// <returns>The percentile; <see langword="null"/> where not one latency lies beyond it, because then it would be the greatest one.</returns>
    public static KnownPercentile? Of(LatencyHistogram latency, double percentile, double clockCost)
    {
        long count = latency.Count;
        long beyond = count == 0 ? 0 : count - LatencyHistogram.RankOf(percentile, count);
        if (beyond < 1)
        {
            return null;
        }

        double value = latency.ValueAtPercentile(percentile);
        bool isBound = value < Readings * clockCost;
        return new KnownPercentile(percentile, isBound ? Readings * clockCost : value, beyond, isBound);
    }
}
