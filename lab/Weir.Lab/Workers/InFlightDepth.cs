namespace Weir.Lab.Workers;

/// <summary>How much was under way at once.</summary>
/// <param name="Average">On average over the window.</param>
/// <param name="Max">At most.</param>
/// <param name="IsMeasured">
/// Whether it was counted: by the workload, around what it really has in flight, or by the pacer. Otherwise each worker had one operation in flight all the
/// time, as workers have that start the next when the last has ended.
/// </param>
public sealed record InFlightDepth(double Average, long Max, bool IsMeasured);
