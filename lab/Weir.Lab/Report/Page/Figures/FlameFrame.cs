namespace Weir.Lab.Report.Page.Figures;

/// <summary>A frame of a flame graph: calls of one method from the same callers.</summary>
/// <param name="Name">The method.</param>
/// <param name="Depth">How many callers are above it.</param>
/// <param name="Start">How many samples are to the left of it.</param>
/// <param name="Samples">How many samples have it.</param>
internal sealed record FlameFrame(string Name, int Depth, int Start, int Samples);
