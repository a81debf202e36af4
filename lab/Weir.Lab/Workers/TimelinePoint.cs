namespace Weir.Lab.Workers;

/// <summary>What happened in one slice of a round.</summary>
/// <param name="Second">When the slice ended, in seconds since the window began.</param>
/// <param name="Rate">Operations per second in the slice.</param>
/// <param name="GcPause">How long collections paused the process in the slice.</param>
/// <param name="PoolThreads">How many threads the pool had at its end.</param>
/// <param name="PoolPending">How many work items waited for a thread of the pool.</param>
/// <param name="InFlight">How much was under way, where the workload or the pacer counts it.</param>
/// <param name="Cores">How many processors the process used on average.</param>
/// <param name="ResidentBytes">How much memory the process had resident at its end.</param>
internal sealed record TimelinePoint(
    double Second, double Rate, TimeSpan GcPause, int PoolThreads, long PoolPending, long InFlight, double Cores, long ResidentBytes);
