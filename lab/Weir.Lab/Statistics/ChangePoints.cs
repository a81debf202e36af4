namespace Weir.Lab.Statistics;

/// <summary>Finds where a sequence of measurements changed, such as the rates of a program commit by commit.</summary>
/// <remarks>
/// For each position at which the sequence can be split, the mean of the values before it is compared with that of the values after it, in units of the
/// difference's standard deviation: that of the first k of n values and the others has the variance s² n / (k (n - k)) when all are of one distribution with
/// variance s². For normal values this is the likelihood ratio (tests of this kind: A. Sen and M. S. Srivastava, <i>On Tests for Detecting Change in
/// Mean</i>, Annals of Statistics 3, 1975). The greatest of these is compared with the greatest of sequences with the same values in random order; its
/// probability is the share of those that reach it. When it is below alpha, there is a change at that position, and both parts are searched in the same way: a
/// hierarchical search with a permutation test, as D. S. Matteson and N. A. James have it (JASA 109, 2014), who compare distributions by their energy
/// distance and not means.
/// <para>
/// The error: when all orders of the values are as likely, as without a change, the first test claims one with a probability of at most alpha, and without it
/// nothing is searched further. Each part beside a change is another such test. Values that drift, or that hang together with those before them, are not in a
/// random order, and a drift is told as changes.
/// </para>
/// </remarks>
internal static class ChangePoints
{
    // So many random orders that a change can be claimed at all, and its probability told to some digits.
    private const int LeastOrders = 1999;
    private const int MostOrders = 99_999;
    private const int OrdersForAlpha = 20;
    private const double Rounding = 1e-9;

    /// <summary>Finds the changes.</summary>
    /// <param name="values">The values in their order.</param>
    /// <param name="alpha">
    /// How often a change may be claimed in a sequence that has none. More than 0 and less than 1; below 1 in 100,000 none is ever claimed.
    /// </param>
    /// <param name="steps">
    /// For each value the step that it belongs to, such as its commit; values of one step stand together and are never split. <see langword="null"/> when
    /// each is a step of its own.
    /// </param>
    /// <param name="seed">The start of the random numbers. The same gives the same changes.</param>
    /// <returns>The changes in their order.</returns>
    /// <exception cref="ArgumentException">There is not a step for each value.</exception>
    /// <exception cref="ArgumentOutOfRangeException">Alpha is not between 0 and 1.</exception>
    public static IReadOnlyList<ChangePoint> Of(IReadOnlyList<double> values, double alpha = 0.01, IReadOnlyList<int>? steps = null, int seed = 1)
    {
        if (!(alpha is > 0 and < 1))
        {
            throw new ArgumentOutOfRangeException(nameof(alpha), alpha, "Alpha is more than 0 and less than 1.");
        }

        if (steps is not null && steps.Count != values.Count)
        {
            throw new ArgumentException($"There are {values.Count} values and {steps.Count} steps; each value has one.", nameof(steps));
        }

        List<ChangePoint> found = [];
        Search([.. values], steps is null ? [.. Enumerable.Range(0, values.Count)] : [.. steps], 0, values.Count, alpha, new Random(seed), found);
        return [.. found.OrderBy(static c => c.Index)];
    }

    private static void Search(double[] values, int[] steps, int from, int to, double alpha, Random random, List<ChangePoint> found)
    {
        double mean = values.Skip(from).Take(to - from).DefaultIfEmpty().Average();
        double[] centred = [.. values.Skip(from).Take(to - from).Select(v => v - mean)];
        int[] splits = [.. Enumerable.Range(1, Math.Max(0, to - from - 1)).Where(i => steps[from + i] != steps[from + i - 1])];
        if (splits.Length == 0 || centred.Distinct().Count() == 1)
        {
            return;
        }

        (double greatest, int at) = Greatest(centred, splits);
        int reached = 1;
        int orders = (int)Math.Clamp(OrdersForAlpha / alpha, LeastOrders, MostOrders);
        double[] other = [.. centred];
        for (int order = 0; order < orders; order++)
        {
            random.Shuffle(other);
            reached += Greatest(other, splits).Value * (1 + Rounding) >= greatest ? 1 : 0;
            if (reached >= alpha * (orders + 1))
            {
                return;
            }
        }

        found.Add(new ChangePoint(from + at, reached / (orders + 1.0)));
        Search(values, steps, from, from + at, alpha, random, found);
        Search(values, steps, from + at, to, alpha, random, found);
    }

    // The split with the greatest difference of the means, in units of its standard deviation but for a factor that all splits share.
    private static (double Value, int At) Greatest(double[] centred, int[] splits)
    {
        (double greatest, int at) = (-1, 0);
        double sum = 0;
        int next = 0;
        foreach (int split in splits)
        {
            while (next < split)
            {
                sum += centred[next++];
            }

            double value = Math.Abs(sum) / Math.Sqrt((double)split * (centred.Length - split));
            if (value > greatest)
            {
                (greatest, at) = (value, split);
            }
        }

        return (greatest, at);
    }
}

/// <summary>A position in a sequence from which on its values differ from those before.</summary>
/// <param name="Index">The first value after the change, counted from 0.</param>
/// <param name="P">How often a sequence without any change has a split that looks so much like one.</param>
internal readonly record struct ChangePoint(int Index, double P);
