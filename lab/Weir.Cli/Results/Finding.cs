namespace Weir.Cli.Results;

/// <summary>Something that one has to know before one believes the figures.</summary>
/// <param name="Level">How grave it is.</param>
/// <param name="Text">One sentence.</param>
internal sealed record Finding(FindingLevel Level, string Text);
