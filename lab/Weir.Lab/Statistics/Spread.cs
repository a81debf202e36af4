namespace Weir.Lab.Statistics;

/// <summary>The middle and the ends of a few measured values.</summary>
/// <param name="Median">The middle value, or the mean of the two middle ones.</param>
/// <param name="Min">The smallest value.</param>
/// <param name="Max">The largest value.</param>
internal readonly record struct Spread(double Median, double Min, double Max)
{
    /// <summary>The spread of some values.</summary>
    /// <returns>Median, smallest and largest.</returns>
    /// <exception cref="ArgumentException">There is no value.</exception>
    public static Spread Of(IEnumerable<double> values)
    {
        double[] sorted = [.. values.Order()];
        return sorted.Length > 0
            ? new Spread(MiddleOf(sorted), sorted[0], sorted[^1])
            : throw new ArgumentException("There must be at least one value.", nameof(values));
    }

    /// <summary>The spread of some values, or of none at all.</summary>
    /// <returns>Median, smallest and largest; not a number when there is no value.</returns>
    public static Spread OfAny(IEnumerable<double> values)
    {
        double[] all = [.. values];
        return all.Length > 0 ? Of(all) : new Spread(double.NaN, double.NaN, double.NaN);
    }

    /// <summary>The middle value of some that are in order, or the mean of the two middle ones.</summary>
    internal static double MiddleOf(double[] sorted)
    {
        int middle = sorted.Length / 2;
        return sorted.Length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
    }
}

/// <summary>
/// The median of some rounds, and two of their own values between which the true median lies. It supposes nothing of how the rounds are distributed, only
/// that they are independent of each other.
/// </summary>
/// <param name="Median">The middle value, or the mean of the two middle ones.</param>
/// <param name="Low">The lower end.</param>
/// <param name="High">The upper end.</param>
/// <param name="Level">
/// How often such an interval holds the true median, from 0 to 1: at least what was asked for. With few values it is less, and the interval reaches from the
/// smallest to the greatest: 0.75 for three, 0 for one.
/// </param>
public readonly record struct MedianInterval(double Median, double Low, double High, double Level)
{
    /// <summary>The default level.</summary>
    public const double UsualLevel = 0.95;

    /// <summary>Whether there are enough values for the usual level. With fewer, the two ends are but the smallest and the greatest.</summary>
    internal bool IsUsual => Level >= UsualLevel;

    /// <summary>The interval of some values, by their ranks (H. A. David and H. N. Nagaraja, Order Statistics, section 7.1).</summary>
    /// <param name="values">The values. At least one.</param>
    /// <param name="level">How often it shall hold the true median, more than 0 and less than 1.</param>
    /// <returns>The narrowest pair of ranks, as far from one end as from the other, that reaches the level.</returns>
    /// <exception cref="ArgumentException">There is no value.</exception>
    /// <exception cref="ArgumentOutOfRangeException">The level is not between 0 and 1.</exception>
    public static MedianInterval Of(IReadOnlyCollection<double> values, double level = UsualLevel)
    {
        ArgumentNullException.ThrowIfNull(values);
        if (values.Count == 0)
        {
            throw new ArgumentException("There must be at least one value.", nameof(values));
        }

        if (!(level is > 0 and < 1))
        {
            throw new ArgumentOutOfRangeException(nameof(level), level, "A level is more than 0 and less than 1.");
        }

        double[] sorted = [.. values.Order()];
        (int rank, double reached) = RankOf(sorted.Length, level);
        return new MedianInterval(Spread.MiddleOf(sorted), sorted[rank - 1], sorted[^rank], reached);
    }

    // From the rank-th smallest to the rank-th greatest. It misses when fewer than so many values lie on one side, each of which does so as often as a coin
    // shows heads.
    private static (int Rank, double Level) RankOf(int count, double level)
    {
        double logTerm = -count * Math.Log(2);
        double tail = Math.Exp(logTerm);
        int rank = 1;
        double reached = Math.Max(0, 1 - (2 * tail));
        for (int heads = 1; heads < count / 2; heads++)
        {
            logTerm += Math.Log((count - heads + 1) / (double)heads);
            tail += Math.Exp(logTerm);
            if (1 - (2 * tail) < level)
            {
                break;
            }

            (rank, reached) = (heads + 1, 1 - (2 * tail));
        }

        return (rank, reached);
    }
}

/// <summary>How evenly something is spread over workers.</summary>
/// <param name="MinOverMax">The least share divided by the greatest: 1 when all have the same, 0 when one has nothing.</param>
/// <param name="Jain">Jain's index, the square of the sum over the count times the sum of squares: 1 when all have the same, 1/n when one has all.</param>
/// <param name="LongestGap">The longest time in which one of them completed nothing.</param>
public sealed record Fairness(double MinOverMax, double Jain, TimeSpan LongestGap)
{
    /// <summary>The fairness of some shares.</summary>
    /// <param name="shares">What each has, such as its rate. None is negative, and there is at least one.</param>
    /// <param name="longestGap">The longest time in which one of them completed nothing.</param>
    /// <returns>The fairness. If all shares are zero, it is perfect.</returns>
    public static Fairness Of(IReadOnlyCollection<double> shares, TimeSpan longestGap = default)
    {
        ArgumentNullException.ThrowIfNull(shares);
        ArgumentOutOfRangeException.ThrowIfZero(shares.Count, nameof(shares));
        double max = shares.Max();
        if (max <= 0)
        {
            return new Fairness(1, 1, longestGap);
        }

        // Relative to the greatest, so that the squares of large shares do not overflow.
        double sum = shares.Sum(s => s / max);
        double squares = shares.Sum(s => s / max * (s / max));
        return new Fairness(shares.Min() / max, sum * sum / (shares.Count * squares), longestGap);
    }
}
