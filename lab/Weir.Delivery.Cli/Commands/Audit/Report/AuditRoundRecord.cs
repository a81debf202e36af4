namespace Weir.Delivery.Cli.Commands.Audit.Report;

/// <summary>What a round did and what was found after it.</summary>
/// <param name="Round">Its number, from 1.</param>
/// <param name="Faults">The faults, in words.</param>
/// <param name="Counts">What it added.</param>
/// <param name="Broken">The promises that it broke, in words; none if all is well.</param>
/// <param name="Seconds">How long it took.</param>
internal sealed record AuditRoundRecord(int Round, IReadOnlyList<string> Faults, AuditCounts Counts, IReadOnlyList<string> Broken, double Seconds);
