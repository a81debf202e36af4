using Weir.Lab.Latency;

namespace Weir.Lab.Statistics;

/// <summary>Compares a percentile of latencies. Whole rounds are drawn again and again, because latencies within a round depend on each other.</summary>
internal static class QuantileComparison
{
    private const int Draws = 400;

    /// <summary>By which factor a percentile exceeds that of a baseline.</summary>
    /// <param name="baseline">The rounds of the baseline. At least one.</param>
    /// <param name="candidate">The rounds of what is compared with it. At least one.</param>
    /// <param name="percentile">The percentile, from 0 to 100.</param>
    /// <param name="level">The level of the interval, between 0 and 1.</param>
    /// <param name="seed">The start of the random numbers.</param>
    /// <returns>The ratio, with the interval of the percentile bootstrap.</returns>
    public static RatioInterval Ratio(
        IReadOnlyList<LatencyHistogram> baseline, IReadOnlyList<LatencyHistogram> candidate, double percentile, double level = 0.95, int seed = 1)
    {
        ArgumentNullException.ThrowIfNull(baseline);
        ArgumentNullException.ThrowIfNull(candidate);
        ArgumentOutOfRangeException.ThrowIfZero(baseline.Count, nameof(baseline));
        ArgumentOutOfRangeException.ThrowIfZero(candidate.Count, nameof(candidate));
        Random random = new(seed);
        LatencyHistogram sum = new();
        double[] ratios = new double[Draws];
        for (int i = 0; i < Draws; i++)
        {
            ratios[i] = Drawn(candidate, percentile, random, sum) / Drawn(baseline, percentile, random, sum);
        }

        Array.Sort(ratios);
        double tail = (1 - level) / 2;
        return new RatioInterval(
            At(candidate, percentile, sum) / At(baseline, percentile, sum),
            ratios[(int)(tail * (Draws - 1))],
            ratios[(int)Math.Ceiling((1 - tail) * (Draws - 1))],
            level);
    }

    private static double Drawn(IReadOnlyList<LatencyHistogram> rounds, double percentile, Random random, LatencyHistogram sum)
    {
        sum.Clear();
        for (int i = 0; i < rounds.Count; i++)
        {
            sum.Merge(rounds[random.Next(rounds.Count)]);
        }

        return Math.Max(1, sum.ValueAtPercentile(percentile));
    }

    private static double At(IReadOnlyList<LatencyHistogram> rounds, double percentile, LatencyHistogram sum)
    {
        sum.Clear();
        foreach (LatencyHistogram round in rounds)
        {
            sum.Merge(round);
        }

        return Math.Max(1, sum.ValueAtPercentile(percentile));
    }
}
