using Weir.Lab.Resources;

namespace Weir.Lab.Results;

/// <summary>Something that one has to know before one believes the figures.</summary>
/// <param name="Level">How grave it is.</param>
/// <param name="Text">One sentence.</param>
/// <param name="Kind">What it is about.</param>
internal sealed record Finding(FindingLevel Level, string Text, FindingKind Kind = FindingKind.Other)
{
    /// <summary>What is to be said when another measurement held the machine's lock.</summary>
    public static IEnumerable<Finding> Company(MachineLock? alone) =>
        alone is null ? [new Finding(FindingLevel.Doubt, "Another measurement ran on this machine at the same time: each has measured the other as well.", FindingKind.Machine)] : [];
}
