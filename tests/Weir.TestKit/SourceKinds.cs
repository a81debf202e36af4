namespace Weir.TestKit;

/// <summary>What is known of a source by its kind.</summary>
public static class SourceKinds
{
    /// <summary>Whether an operator knows the number of items before it reads them.</summary>
    public static bool KnowsCount(this SourceKind kind) => kind is SourceKind.Array or SourceKind.List or SourceKind.Range or SourceKind.Collection;
}
