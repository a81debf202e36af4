namespace Weir.Tables.BlocksGrid;

/// <summary>What a message cost in the runs of one arm.</summary>
/// <param name="Nanoseconds">Its time.</param>
/// <param name="Hops">Its work items of the thread pool.</param>
internal readonly record struct GridSample(double Nanoseconds, double Hops);
