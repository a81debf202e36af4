namespace Weir.Cli.Profiling;

/// <summary>A sample of a thread of the measured work.</summary>
/// <param name="Frames">The methods from the outermost to the innermost, between semicolons.</param>
/// <param name="Kind">What the thread did.</param>
internal readonly record struct FoldedSample(string Frames, SampleKind Kind);
