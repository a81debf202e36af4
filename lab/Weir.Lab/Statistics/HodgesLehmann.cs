namespace Weir.Lab.Statistics;

/// <summary>
/// The estimate of Hodges and Lehmann: the median of all pairwise ratios, with the interval that the rank test does not reject. Extreme rounds
/// move it little, and it assumes no shape.
/// </summary>
internal static class HodgesLehmann
{
    /// <summary>By which factor a sample exceeds a baseline, from independent rounds.</summary>
    /// <param name="baseline">Rates of the baseline. At least one, all more than zero.</param>
    /// <param name="candidate">Rates of what is compared with it. At least one, all more than zero.</param>
    /// <param name="level">The level of the interval, between 0 and 1.</param>
    public static RatioInterval Ratio(IReadOnlyList<double> baseline, IReadOnlyList<double> candidate, double level)
    {
        double[] x = Logs(baseline, nameof(baseline));
        double[] y = Logs(candidate, nameof(candidate));
        ThrowUnlessLevel(level);
        double[] differences = [.. x.SelectMany(a => y.Select(b => b - a)).Order()];
        return Interval(differences, level, (int k) => MannWhitney.Cdf(x.Length, y.Length, k));
    }

    /// <summary>By which factor a sample exceeds a baseline, from rounds that were measured in pairs.</summary>
    /// <param name="baseline">Rates of the baseline. At least one, all more than zero.</param>
    /// <param name="candidate">The rates that were measured next to them, in the same order.</param>
    /// <param name="level">The level of the interval, between 0 and 1.</param>
    public static RatioInterval PairedRatio(IReadOnlyList<double> baseline, IReadOnlyList<double> candidate, double level)
    {
        double[] differences = PairedDifferences(baseline, candidate);
        ThrowUnlessLevel(level);
        List<double> averages = [];
        for (int i = 0; i < differences.Length; i++)
        {
            for (int j = i; j < differences.Length; j++)
            {
                averages.Add((differences[i] + differences[j]) / 2);
            }
        }

        averages.Sort();
        return Interval([.. averages], level, (int k) => SignedRank.Cdf(differences.Length, k));
    }

    internal static double[] PairedDifferences(IReadOnlyList<double> baseline, IReadOnlyList<double> candidate)
    {
        double[] x = Logs(baseline, nameof(baseline));
        double[] y = Logs(candidate, nameof(candidate));
        return x.Length == y.Length
            ? [.. x.Zip(y, static (a, b) => b - a)]
            : throw new ArgumentException("Both sides must have the same number of rates.", nameof(candidate));
    }

    internal static double MedianOf(IReadOnlyList<double> sorted) =>
        sorted.Count % 2 == 1 ? sorted[sorted.Count / 2] : (sorted[(sorted.Count / 2) - 1] + sorted[sorted.Count / 2]) / 2;

    // The ends are the k-th values from both sides, with the greatest k that cuts off at most half of what is left to chance on each.
    private static RatioInterval Interval(double[] sorted, double level, Func<int, double> cdf)
    {
        double tail = (1 - level) / 2;
        int k = 0;
        while (k < sorted.Length / 2 && cdf(k) <= tail)
        {
            k++;
        }

        return new RatioInterval(
            Math.Exp(MedianOf(sorted)),
            k == 0 ? 0 : Math.Exp(sorted[k - 1]),
            k == 0 ? double.PositiveInfinity : Math.Exp(sorted[^k]),
            level);
    }

    private static double[] Logs(IReadOnlyList<double> rates, string name)
    {
        ArgumentNullException.ThrowIfNull(rates, name);
        return rates.Count > 0 && rates.All(static r => r > 0 && double.IsFinite(r))
            ? [.. rates.Select(static r => Math.Log(r))]
            : throw new ArgumentException("There must be at least one rate, and all must be more than zero.", name);
    }

    private static void ThrowUnlessLevel(double level)
    {
        if (!(level is > 0 and < 1))
        {
            throw new ArgumentOutOfRangeException(nameof(level), level, "A level is between 0 and 1.");
        }
    }
}
