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
