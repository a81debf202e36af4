using static System.FormattableString;

namespace Weir.Lab.Suites.Figures;

/// <summary>
/// The word on a goal. It is met or missed only if the whole interval of the figure says so. Otherwise it is undecided, on whichever side its median lies.
/// </summary>
internal static class GoalVerdict
{
    /// <summary>Of a figure that shall be no greater than its limit.</summary>
    public static string AtMost(double median, double low, double high, double limit) =>
        high <= limit ? "met" : low > limit ? $"**{Missed((median / limit) - 1)}**" : Undecided(median <= limit, (median / limit) - 1);

    /// <summary>Of a figure that shall be no less than its limit.</summary>
    public static string AtLeast(double median, double low, double high, double limit) =>
        low >= limit ? "met" : high < limit ? $"**{Missed(1 - (median / limit))}**" : Undecided(median >= limit, 1 - (median / limit));

    private static string Missed(double by) => Invariant($"missed by {by:0.# %}");

    private static string Undecided(bool isMet, double by) => $"undecided: {(isMet ? "met" : Missed(by))} by the median alone";
}
