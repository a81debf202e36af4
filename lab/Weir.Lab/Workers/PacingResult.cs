namespace Weir.Lab.Workers;

/// <summary>How well a given rate was kept.</summary>
/// <param name="Offered">How many starts were due in the window.</param>
/// <param name="Dropped">How many were dropped, because too many operations had not ended.</param>
/// <param name="LateStarts">How many operations began more than a millisecond after they were due.</param>
/// <param name="Unfinished">How many had not ended when the wait for them was given up. Their latencies are missing.</param>
/// <param name="LatenessP99">By how much the generator itself was late, in nanoseconds: 99 % of all starts became due at most so late.</param>
internal sealed record PacingResult(long Offered, long Dropped, long LateStarts, long Unfinished, long LatenessP99);
