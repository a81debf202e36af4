namespace Weir.Lab.Results;

/// <summary>A commit with which a figure of an arm changed.</summary>
internal sealed record HistoryChange
{
    /// <summary>The first commit that has the new figure.</summary>
    public required string Commit { get; init; }

    /// <summary>The last one that has the old figure. Commits between the two were not measured.</summary>
    public required string Before { get; init; }

    /// <summary>The figure after it as a multiple of the one before.</summary>
    public required double Ratio { get; init; }

    /// <summary>The lower end of the ratio's interval; 0 with too few results.</summary>
    public required double Low { get; init; }

    /// <summary>The upper end; infinite with too few results.</summary>
    public required double High { get; init; }

    /// <summary>How often a history without a change has a place that looks so much like one.</summary>
    public required double P { get; init; }

    /// <summary>What it comes to: a change within the margin is <see cref="Verdict.Equivalent"/>.</summary>
    public required Verdict Verdict { get; init; }
}
