namespace Weir.Cli.Profiling;

/// <summary>A sample of a thread.</summary>
/// <param name="Frames">
/// The methods from the outermost to the innermost, between semicolons; <see langword="null"/> of what is not the measured work, such as the profiler.
/// </param>
/// <param name="Kind">What the thread did.</param>
internal readonly record struct FoldedSample(string? Frames, SampleKind Kind);
