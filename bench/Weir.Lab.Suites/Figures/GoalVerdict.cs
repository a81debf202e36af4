using Weir.Lab.Statistics;
using static System.FormattableString;

namespace Weir.Lab.Suites.Figures;

/// <summary>
/// The word on a goal. It is met or missed only if the whole interval of the figure says so. Otherwise it is undecided, on whichever side its median lies.
/// </summary>
internal static class GoalVerdict
{
    /// <summary>The median of a figure that shall be no greater than its limit, its interval and the word.</summary>
    public static string AtMost(IReadOnlyCollection<double> values, double limit, Func<double, string> format)
    {
        MedianInterval value = MedianInterval.Of(values);
        return $"{Figure(value, format)}, {AtMost(value.Median, value.Low, value.High, limit)}";
    }

    /// <summary>The median of a figure that shall be no less than its limit, its interval and the word.</summary>
    public static string AtLeast(IReadOnlyCollection<double> values, double limit, Func<double, string> format)
    {
        MedianInterval value = MedianInterval.Of(values);
        return $"{Figure(value, format)}, {AtLeast(value.Median, value.Low, value.High, limit)}";
    }

    /// <summary>Of a figure that shall be no greater than its limit.</summary>
    public static string AtMost(double median, double low, double high, double limit) =>
        high <= limit ? "met" : low > limit ? $"**{Missed((median / limit) - 1)}**" : Undecided(median <= limit, (median / limit) - 1);

    /// <summary>Of a figure that shall be no less than its limit.</summary>
    public static string AtLeast(double median, double low, double high, double limit) =>
        low >= limit ? "met" : high < limit ? $"**{Missed(1 - (median / limit))}**" : Undecided(median >= limit, 1 - (median / limit));

    private static string Figure(MedianInterval value, Func<double, string> format) =>
        format(value.Median) + (value.Low < value.High ? $" [{format(value.Low)}..{format(value.High)}]" : "");

    private static string Missed(double by) => Invariant($"missed by {by:0.# %}");

    private static string Undecided(bool isMet, double by) => $"undecided: {(isMet ? "met" : Missed(by))} by the median alone";
}
