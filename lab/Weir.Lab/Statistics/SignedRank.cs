namespace Weir.Lab.Statistics;

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
