using Weir.Lab.Statistics;

namespace Weir.Lab.Trials;

/// <summary>What a run of interleaved trials found.</summary>
/// <remarks>Arms are compared round by round, because the windows of one round saw the same machine; the median over the rounds is reported.</remarks>
internal sealed class TrialReport
{
    internal TrialReport(IReadOnlyList<ArmResult> arms, bool isPartial)
    {
        Arms = arms;
        IsPartial = isPartial;
    }

    /// <summary>The arms in the order in which they were given.</summary>
    public IReadOnlyList<ArmResult> Arms { get; }

    /// <summary>Whether the run was stopped before it was complete.</summary>
    public bool IsPartial { get; }

    /// <summary>How many times as many items per second an arm did as a baseline.</summary>
    /// <param name="arm">The arm.</param>
    /// <param name="baseline">The baseline.</param>
    /// <returns>The median over the rounds; <see langword="null"/> when they have no round in common.</returns>
    public static double? Ratio(ArmResult arm, ArmResult baseline) => Paired(arm, baseline, static (a, b) => a.Rate / b.Rate);

    /// <summary>How many nanoseconds an item of an arm takes beyond an item of a baseline.</summary>
    /// <param name="arm">The arm.</param>
    /// <param name="baseline">The baseline.</param>
    /// <returns>The median over the rounds; <see langword="null"/> when they have no round in common.</returns>
    public static double? NanosecondsAbove(ArmResult arm, ArmResult baseline) =>
        Paired(arm, baseline, static (a, b) => a.NanosecondsPerItem - b.NanosecondsPerItem);

    private static double? Paired(ArmResult arm, ArmResult baseline, Func<Window, Window, double> compare)
    {
        ArgumentNullException.ThrowIfNull(arm);
        ArgumentNullException.ThrowIfNull(baseline);
        double[] values =
        [
            .. arm.Counted.Join(baseline.Counted, static a => a.Round, static b => b.Round, compare),
        ];
        return values.Length > 0 ? Spread.Of(values).Median : null;
    }
}
