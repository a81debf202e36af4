using Weir.Runtimes;

namespace Weir.Cli.Commands.Load.Arms;

/// <summary>A decision of the auto runtime.</summary>
/// <param name="Call">In which of its calls: <c>first</c>, when it knew nothing, or <c>last</c>.</param>
/// <param name="Decision">The decision.</param>
internal sealed record LoadDecision(string Call, AutoDecision Decision);
