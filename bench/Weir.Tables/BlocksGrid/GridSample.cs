namespace Weir.Tables.BlocksGrid;

/// <summary>What a message cost in the runs of one arm.</summary>
/// <param name="Nanoseconds">Its time.</param>
/// <param name="Hops">Its work items of the thread pool.</param>
internal readonly record struct GridSample(double Nanoseconds, double Hops);

/// <summary>A sample of each arm of a cell, in one round.</summary>
/// <param name="Theirs">The platform's block.</param>
/// <param name="Ours">Weir's block.</param>
/// <param name="Channels">Channels by hand.</param>
internal readonly record struct GridRound(GridSample Theirs, GridSample Ours, GridSample Channels);
