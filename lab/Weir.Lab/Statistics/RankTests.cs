using Perfolizer.Mathematics.Multimodality;
using Perfolizer.Mathematics.SignificanceTesting.MannWhitney;

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

/// <summary>How many times as large one thing is as another, with the interval in which the true ratio lies.</summary>
/// <param name="Estimate">The ratio.</param>
/// <param name="Lower">The lower end; 0 when there are too few values to say.</param>
/// <param name="Upper">The upper end; infinite when there are too few values to say.</param>
/// <param name="Level">The share of such intervals that hold the true ratio, such as 0.95.</param>
internal sealed record RatioInterval(double Estimate, double Lower, double Upper, double Level)
{
    /// <summary>Whether the whole interval lies within some factors.</summary>
    public bool IsWithin(double lower, double upper) => Lower >= lower && Upper <= upper;
}

/// <summary>The signed-rank test of Wilcoxon, two-sided: do pairs differ in one direction? For rounds that were measured next to each other.</summary>
/// <param name="W">The lesser of the two sums of ranks.</param>
/// <param name="P">The probability of a sum so small, if neither direction were preferred.</param>
internal sealed record SignedRank(double W, double P)
{
    private const int LargestExact = 60;

    /// <summary>Tests pairs of rates.</summary>
    /// <param name="baseline">Rates of the baseline. At least one, all more than zero.</param>
    /// <param name="candidate">The rates that were measured next to them, in the same order.</param>
    /// <returns>The result. Pairs without a difference do not count.</returns>
    public static SignedRank Test(IReadOnlyList<double> baseline, IReadOnlyList<double> candidate)
    {
        double[] differences = [.. HodgesLehmann.PairedDifferences(baseline, candidate).Where(static d => d != 0).OrderBy(Math.Abs)];
        if (differences.Length == 0)
        {
            return new SignedRank(0, 1);
        }

        double up = 0;
        double down = 0;
        bool ties = false;
        for (int i = 0; i < differences.Length;)
        {
            int end = i + 1;
            while (end < differences.Length && Math.Abs(differences[end]) == Math.Abs(differences[i]))
            {
                end++;
            }

            double rank = (i + 1 + end) / 2.0;
            ties |= end - i > 1;
            for (; i < end; i++)
            {
                if (differences[i] > 0)
                {
                    up += rank;
                }
                else
                {
                    down += rank;
                }
            }
        }

        double less = Math.Min(up, down);
        double p = ties || differences.Length > LargestExact ? Approximate(differences.Length, less) : Cdf(differences.Length, (int)less);
        return new SignedRank(less, Math.Min(1, 2 * p));
    }

    /// <summary>The probability of a sum of ranks of at most so much.</summary>
    internal static double Cdf(int n, int sum)
    {
        if (n > LargestExact)
        {
            return Approximate(n, sum);
        }

        // Of how many of the 2^n ways to give signs to the ranks each sum is the outcome.
        double[] ways = new double[(n * (n + 1) / 2) + 1];
        ways[0] = 1;
        int most = 0;
        for (int rank = 1; rank <= n; rank++)
        {
            most += rank;
            for (int s = most; s >= rank; s--)
            {
                ways[s] += ways[s - rank];
            }
        }

        return ways.Take(sum + 1).Sum() / Math.Pow(2, n);
    }

    private static double Approximate(double n, double sum) =>
        Normal.Cdf((sum - (n * (n + 1) / 4) + 0.5) / Math.Sqrt(n * (n + 1) * ((2 * n) + 1) / 24));
}

/// <summary>
/// The rank test of Mann and Whitney, two-sided: could two samples be of one distribution? It assumes no shape. Exact for samples without equal
/// values; otherwise the normal approximation with corrections for ties and continuity.
/// </summary>
/// <param name="U">In how many pairs the first sample's value is the greater one; pairs of equal values count a half.</param>
/// <param name="P">The probability of a <see cref="U"/> at least so far from the middle, if the distributions are the same.</param>
internal sealed record MannWhitney(double U, double P)
{
    // Beyond it the approximation is as good as exact, and the exact count takes long.
    private const int LargestExact = 60;

    /// <summary>Tests two samples.</summary>
    /// <param name="x">The first sample. At least one value.</param>
    /// <param name="y">The second sample. At least one value.</param>
    public static MannWhitney Test(IReadOnlyList<double> x, IReadOnlyList<double> y)
    {
        ArgumentOutOfRangeException.ThrowIfZero(x.Count, nameof(x));
        ArgumentOutOfRangeException.ThrowIfZero(y.Count, nameof(y));
        double u = 0;
        bool ties = false;
        foreach (double a in x)
        {
            foreach (double b in y)
            {
                u += a > b ? 1 : a == b ? 0.5 : 0;
                ties |= a == b;
            }
        }

        double less = Math.Min(u, ((double)x.Count * y.Count) - u);
        double p = !ties && x.Count + y.Count <= LargestExact
            ? 2 * Cdf(x.Count, y.Count, (int)less)
            : 2 * Approximate(x, y, less);
        return new MannWhitney(u, Math.Clamp(p, 0, 1));
    }

    /// <summary>The probability of at most so many pairs. Perfolizer's functions tell that of fewer than a number.</summary>
    internal static double Cdf(int x, int y, int u) => x + y <= LargestExact
        ? MannWhitneyLoefflerExactCdf.Instance.Cdf(x, y, u + 1)
        : MannWhitneyEdgeworthApproxCdf.Instance.Cdf(x, y, u + 1);

    private static double Approximate(IReadOnlyList<double> x, IReadOnlyList<double> y, double u)
    {
        double n = x.Count;
        double m = y.Count;
        double all = n + m;
        double ties = x.Concat(y).GroupBy(static v => v).Sum(static g => Math.Pow(g.Count(), 3) - g.Count());
        double deviation = Math.Sqrt(n * m / 12 * (all + 1 - (ties / (all * (all - 1)))));
        return deviation > 0 ? Normal.Cdf((u - (n * m / 2) + 0.5) / deviation) : 0.5;
    }
}

/// <summary>The standard normal distribution.</summary>
internal static class Normal
{
    public static double Cdf(double z) => Perfolizer.Mathematics.Distributions.ContinuousDistributions.NormalDistribution.Standard.Cdf(z);
}

/// <summary>The difference of two means whose values may vary differently: Welch's test (B. L. Welch, Biometrika 34, 1947).</summary>
/// <param name="Difference">The mean of the second values minus that of the first.</param>
/// <param name="Half">Half the width of its interval; infinite with fewer than two values on a side.</param>
/// <param name="P">The probability of such a difference between equal means.</param>
internal readonly record struct Welch(double Difference, double Half, double P)
{
    /// <summary>Compares.</summary>
    /// <param name="baseline">The first values. At least one.</param>
    /// <param name="candidate">The second values. At least one.</param>
    /// <param name="level">The level of the interval, between 0 and 1.</param>
    /// <param name="step">By how much the difference may be off whatever the values are. The interval is wider by it on both sides.</param>
    public static Welch Of(IReadOnlyList<double> baseline, IReadOnlyList<double> candidate, double level, double step = 0)
    {
        double difference = candidate.Average() - baseline.Average();
        if (baseline.Count < 2 || candidate.Count < 2)
        {
            return new Welch(difference, double.PositiveInfinity, 1);
        }

        double sure = Math.Max(0, Math.Abs(difference) - step);
        (double x, double y) = (SquaredError(baseline), SquaredError(candidate));
        if (x + y <= 0)
        {
            return new Welch(difference, step, sure == 0 ? 1 : 0);
        }

        double degrees = (x + y) * (x + y) / ((x * x / (baseline.Count - 1)) + (y * y / (candidate.Count - 1)));
        double error = Math.Sqrt(x + y);
        StudentDistribution student = new(degrees);
        return new Welch(difference, (student.Quantile((1 + level) / 2) * error) + step, 2 * student.Cdf(-sure / error));
    }

    private static double SquaredError(IReadOnlyList<double> values)
    {
        double mean = values.Average();
        return values.Sum(v => (v - mean) * (v - mean)) / (values.Count - 1) / values.Count;
    }
}

/// <summary>Holm's correction: of many comparisons some look significant by chance, unless each has to be the more so.</summary>
internal static class Holm
{
    /// <summary>Corrects the probabilities of the comparisons of one run.</summary>
    /// <param name="probabilities">The probabilities, from 0 to 1.</param>
    /// <returns>The corrected ones in the same order. A comparison is significant when its corrected probability is below alpha.</returns>
    public static double[] Adjust(IReadOnlyList<double> probabilities)
    {
        double[] adjusted = new double[probabilities.Count];
        double last = 0;
        int rank = 0;
        foreach (int i in Enumerable.Range(0, adjusted.Length).OrderBy(i => probabilities[i]))
        {
            last = Math.Max(last, Math.Min(1, (adjusted.Length - rank++) * probabilities[i]));
            adjusted[i] = last;
        }

        return adjusted;
    }
}

/// <summary>How much larger than half its interval a difference must be to be found reliably.</summary>
internal static class Power
{
    private const double Found = 0.95;

    /// <summary>What has to be added to half the interval, as a share of it, so that the difference is found in 95 %.</summary>
    /// <param name="degrees">Degrees of freedom, at least 1.</param>
    /// <param name="alpha">The level of the test, on both sides.</param>
    public static double Of(int degrees, double alpha)
    {
        StudentDistribution student = new(degrees);
        return student.Quantile(Found) / student.Quantile(1 - (alpha / 2));
    }
}

/// <summary>Whether values lie around one mode or several. Of several, a mean or a median tells little.</summary>
/// <param name="MValue">2 for one peak, 4 for two, and so on, and what lies between for peaks that are not sure.</param>
/// <param name="Modes">The modes; one when there is only one, or when there are too few values to tell.</param>
internal sealed record Modality(double MValue, IReadOnlyList<double> Modes)
{
    /// <summary>From here on there are probably several modes.</summary>
    public const double Several = 2.8;

    // Fewer values always look like several heaps.
    private const int LeastValues = 6;

    /// <summary>Whether there are probably several modes.</summary>
    public bool IsMultimodal => MValue > Several;

    /// <summary>Looks for the modes of some values.</summary>
    public static Modality Of(IReadOnlyList<double> values)
    {
        ArgumentOutOfRangeException.ThrowIfZero(values.Count, nameof(values));
        double[] sorted = [.. values.Order()];
        double median = HodgesLehmann.MedianOf(sorted);
        if (sorted.Length < LeastValues || sorted[0] == sorted[^1])
        {
            return new Modality(2, [median]);
        }

        double mvalue = MValueCalculator.Calculate(sorted);
        if (!(mvalue > Several))
        {
            return new Modality(double.IsNaN(mvalue) ? 2 : mvalue, [median]);
        }

        double[] modes = [.. LowlandModalityDetector.Instance.DetectModes(sorted).Modes.Select(static m => m.Location)];
        return new Modality(mvalue, modes.Length > 0 ? modes : [median]);
    }
}
