namespace Weir.Lab.Trials;

/// <summary>What a run of interleaved trials found.</summary>
internal sealed class TrialReport
{
    internal TrialReport(IReadOnlyList<TrialArmResult> arms, bool isPartial)
    {
        Arms = arms;
        IsPartial = isPartial;
    }

    /// <summary>The arms in the order in which they were given.</summary>
    public IReadOnlyList<TrialArmResult> Arms { get; }

    /// <summary>Whether the run was stopped before it was complete.</summary>
    public bool IsPartial { get; }
}
