using Perfolizer.Mathematics.SignificanceTesting.MannWhitney;

namespace Weir.Lab.Statistics;

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

    /// <summary>The least probability that the test can give for samples of some size: with three values each, 0.1, whatever the values.</summary>
    /// <param name="x">The size of the first sample. At least 1.</param>
    /// <param name="y">The size of the second sample. At least 1.</param>
    public static double LeastP(int x, int y)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(x, 1);
        ArgumentOutOfRangeException.ThrowIfLessThan(y, 1);
        return Math.Min(1, 2 * Cdf(x, y, 0));
    }

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
