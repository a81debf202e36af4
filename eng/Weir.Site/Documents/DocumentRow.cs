namespace Weir.Site.Documents;

/// <summary>
/// A line of one of the documents: where it is here, what came out in theirs and in ours, or why it is not here. In the figures, a reference to a page of
/// results stands in braces; see <see cref="Figures.FigureReader"/>.
/// </summary>
public sealed record DocumentRow
{
    /// <summary>What the document has: a feature, or what it measures.</summary>
    public required string Feature { get; init; }

    /// <summary>The lines of the document's text that have it, as <see cref="DocumentLines"/> reads them; empty for what the document does not have.</summary>
    public string Lines { get; init; } = "";

    /// <summary>The pages of docs that have it here, separated by commas, each with its heading if it has one.</summary>
    public string Pages { get; init; } = "";

    /// <summary>The types, or members of types, separated by commas.</summary>
    public string Types { get; init; } = "";

    /// <summary>The command that shows it.</summary>
    public string Command { get; init; } = "";

    /// <summary>The tests that hold it, such as <c>FeatureTests.List</c>, separated by commas; the beginning of a name is enough.</summary>
    public string Tests { get; init; } = "";

    /// <summary>What the document says came out.</summary>
    public string Theirs { get; init; } = "";

    /// <summary>What came out here.</summary>
    public string Ours { get; init; } = "";

    /// <summary>Why there is no place or no figure here.</summary>
    public string Reason { get; init; } = "";

    /// <summary>What stands before each reference of the row; empty for that of the part.</summary>
    public string From { get; init; } = "";

    /// <summary>Whether the document has it, and it is not only added here.</summary>
    public bool IsTheirs => Lines.Length > 0;

    /// <summary>Whether a page, a type, a command or a test has it.</summary>
    public bool IsHere => (Pages + Types + Command + Tests).Length > 0;

    /// <summary>Whether a figure of the results stands beside the document's line.</summary>
    public bool IsMeasured => Ours.Contains('{', StringComparison.Ordinal);

    /// <summary>Whether the document has a figure here, and the results have none.</summary>
    public bool IsOnlyTheirs => !IsMeasured && Theirs.Any(char.IsDigit);

    /// <summary>Whether nothing here has it.</summary>
    public bool IsAbsent => !IsMeasured && !IsHere;
}
