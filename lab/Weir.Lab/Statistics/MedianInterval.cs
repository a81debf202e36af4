namespace Weir.Lab.Statistics;

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
