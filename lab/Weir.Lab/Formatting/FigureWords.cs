namespace Weir.Lab.Formatting;

/// <summary>What arms are compared by, as it stands in tables and sentences.</summary>
internal static class FigureWords
{
    /// <summary>The word of a figure.</summary>
    public static string Of(ComparedFigure figure) => figure.ToString().ToLowerInvariant();
}
