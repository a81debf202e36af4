namespace Weir.Audit.Checks;

/// <summary>How long it took, after a worker was killed, until everything had its effect that was published then.</summary>
/// <param name="Seconds">From the kill to the last effect.</param>
/// <param name="Waiting">How many changes had no effect when it was killed.</param>
/// <param name="Repeated">How many were delivered again that had their effect by then.</param>
/// <param name="RepeatedSeconds">How long before the kill the oldest of these had its effect.</param>
internal sealed record AuditRecovery(double Seconds, long Waiting, long Repeated = 0, double RepeatedSeconds = 0);
