namespace Weir.Audit.Report;

/// <summary>What a round did and what was found after it.</summary>
/// <param name="Scenario">The name of its scenario.</param>
/// <param name="Round">Its number, from 1.</param>
/// <param name="Faults">The faults, in words.</param>
/// <param name="Counts">What it added.</param>
/// <param name="Broken">The promises that it broke, in words; none if all is well.</param>
/// <param name="Seconds">How long it took.</param>
/// <param name="Recovery">The longest recovery from a kill of a worker; <see langword="null"/> if there was none.</param>
internal sealed record AuditRoundRecord(
    string Scenario, int Round, IReadOnlyList<string> Faults, AuditCounts Counts, IReadOnlyList<string> Broken, double Seconds, AuditRecovery? Recovery);
