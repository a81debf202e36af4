namespace Weir.Lab.Statistics;

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
