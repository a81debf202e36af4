namespace Weir.Lab.Results;

/// <summary>Something that you should know before you trust the figures.</summary>
/// <param name="Level">How serious it is.</param>
/// <param name="Text">One sentence.</param>
/// <param name="Kind">What it is about.</param>
public sealed record Finding(FindingLevel Level, string Text, FindingKind Kind = FindingKind.Other)
{
    /// <summary>The cause, if any process can find it: such findings of several processes differ only in their figures.</summary>
    public RunCause? Cause { get; init; }

    /// <summary>Whether it says that other programs, or the hypervisor, had a part of the machine.</summary>
    internal bool IsOfAnUnquietMachine =>
        Level > FindingLevel.Note && (Kind == FindingKind.Machine || Cause is RunCause.NotQuiet or RunCause.Steal or RunCause.Throttled);

    /// <summary>Of findings that several processes made of the same cause, the first.</summary>
    internal static IEnumerable<Finding> EachOnce(IEnumerable<Finding> findings) =>
        findings.DistinctBy(static f => f.Cause is { } cause ? (object)(cause, f.Level) : f);

    /// <summary>What a run of workers remarks about itself.</summary>
    internal static Finding Of(RunRemark remark, FindingLevel level) => new(level, remark.Text) { Cause = remark.Cause };

    /// <summary>The finding if another measurement held the machine's lock.</summary>
    internal static IEnumerable<Finding> OtherMeasurement(MachineLock? alone) =>
        alone is null ? [new Finding(
            FindingLevel.Doubt, "Another measurement ran on this machine at the same time; each disturbed the other.", FindingKind.Machine)] : [];

    /// <summary>The finding if the canary varied more than on a quiet machine.</summary>
    public static IEnumerable<Finding> Noise(double variation) => variation > Canary.QuietVariation
        ? [new Finding(FindingLevel.Doubt,
            FormattableString.Invariant($"The machine was not quiet: the canary varied by {variation * 100:0.0} % before or after."), FindingKind.Machine)
        {
            Cause = RunCause.NotQuiet,
        }]
        : [];

    /// <summary>The finding if several comparisons share the level.</summary>
    public static IEnumerable<Finding> SharedAlpha(int comparisons, double alpha) => comparisons > 1
        ? [new Finding(FindingLevel.Note, FormattableString.Invariant(
            $"{comparisons} comparisons share the alpha of {alpha * 100:0.##} %; each is made at {alpha / comparisons * 100:0.###} %."))]
        : [];
}
