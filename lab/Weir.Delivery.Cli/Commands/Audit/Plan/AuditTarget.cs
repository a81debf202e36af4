namespace Weir.Delivery.Cli.Commands.Audit.Plan;

/// <summary>A participant that faults can happen to.</summary>
/// <param name="Name">Its name.</param>
/// <param name="Kinds">What can happen to it.</param>
internal sealed record AuditTarget(string Name, IReadOnlyList<FaultKind> Kinds);
