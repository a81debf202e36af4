namespace Weir.Cli.Processes;

/// <summary>One line that a measuring process answers with.</summary>
/// <param name="Round">A round that has ended.</param>
/// <param name="Findings">At the end, the findings about all of them.</param>
/// <param name="Rate">The rate of a round whose other figures follow later.</param>
/// <param name="Room">With the rate, the share of the machine's processor time that other programs did not take.</param>
/// <param name="IsDisturbed">With the rate, whether the round does not count.</param>
/// <param name="Waiting">What is waited for.</param>
/// <param name="Failure">Why it cannot measure.</param>
/// <param name="IsStuck">Whether the round was abandoned because a worker hung.</param>
/// <param name="IsReady">Whether the process is warm and waits for its first turn.</param>
/// <param name="Batch">When it is ready, how many operations go between two looks at the clock, as its warm-up found.</param>
/// <param name="Profile">What a round after these showed under a profiler.</param>
internal sealed record MeasureAnswer(
    RoundRecord? Round = null, IReadOnlyList<Finding>? Findings = null, double? Rate = null, double? Room = null, bool IsDisturbed = false,
    string? Waiting = null, string? Failure = null, bool IsStuck = false, bool IsReady = false, int? Batch = null,
    ProfileRecord? Profile = null);
