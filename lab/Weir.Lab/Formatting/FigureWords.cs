namespace Weir.Lab.Formatting;

/// <summary>What arms are compared by, as it stands in tables and sentences.</summary>
internal static class FigureWords
{
    /// <summary>The word of a figure.</summary>
    public static string Of(ComparedFigure figure) => figure.ToString().ToLowerInvariant();

    /// <summary>The values of both arms, as the beginning of a sentence's end; nothing for rates.</summary>
    public static string Values(ComparisonRecord c) => c is not { Value: { } value, AgainstValue: { } against } ? ""
        : c.Figure == ComparedFigure.Bytes
            ? FormattableString.Invariant($"{value:#,0.#} B an operation against {against:#,0.#} ")
            : $"{Numbers.Nanoseconds(value)} against {Numbers.Nanoseconds(against)}, ";
}
