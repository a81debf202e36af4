namespace Weir.Lab.Results;

/// <summary>What happened in a short stretch of a round.</summary>
/// <param name="Second">When it ended, in seconds from the start of the round.</param>
/// <param name="Rate">Operations per second in it.</param>
/// <param name="GcPauseMs">How long collections paused the process in it, in milliseconds.</param>
/// <param name="PoolThreads">Threads of the pool at its end.</param>
public sealed record TimelineRecord(double Second, double Rate, double GcPauseMs, int PoolThreads)
{
    /// <summary>Processors that the process used in it, on average; <see langword="null"/> where that is not looked at.</summary>
    public double? Cores { get; init; }

    /// <summary>Memory that the process had resident at its end; <see langword="null"/> where that is not looked at.</summary>
    public long? ResidentBytes { get; init; }
}
