namespace Weir.Lab.Trials;

/// <summary>What a run of interleaved trials found.</summary>
/// <param name="Arms">The arms in the order in which they were given, each with its rounds in their order; none when the run was stopped before.</param>
/// <param name="IsPartial">Whether the run was stopped before it was complete.</param>
internal sealed record TrialReport(IReadOnlyList<ArmRecord> Arms, bool IsPartial);
