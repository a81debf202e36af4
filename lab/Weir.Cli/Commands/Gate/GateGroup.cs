namespace Weir.Cli.Commands.Gate;

/// <summary>Sides that were measured in turns, and what they come to.</summary>
/// <param name="Arms">The arms with their rounds.</param>
/// <param name="Comparisons">The comparisons with the first of them.</param>
internal sealed record GateGroup(IReadOnlyList<ArmRecord> Arms, IReadOnlyList<ComparisonRecord> Comparisons);
