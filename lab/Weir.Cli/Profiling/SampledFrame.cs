namespace Weir.Cli.Profiling;

/// <summary>A method in a stack.</summary>
/// <param name="Module">The file that it comes from, without its extension.</param>
/// <param name="Method">Its full name as the runtime gives it, with its parameters.</param>
internal readonly record struct SampledFrame(string Module, string Method);
