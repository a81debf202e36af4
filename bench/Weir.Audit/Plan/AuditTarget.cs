namespace Weir.Audit.Plan;

/// <summary>A participant that faults can happen to.</summary>
internal sealed record AuditTarget(string Name, IReadOnlyList<FaultKind> Kinds);
