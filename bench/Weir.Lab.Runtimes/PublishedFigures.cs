namespace Weir.Lab.Runtimes;

/// <summary>What Rivulet's documentation says of a row, as it stands there.</summary>
/// <param name="Net8">Time and bytes on .NET 8.</param>
/// <param name="Net9">Time and bytes on .NET 9.</param>
internal sealed record PublishedFigures(string Net8, string Net9);
