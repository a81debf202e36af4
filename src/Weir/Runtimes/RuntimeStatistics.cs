namespace Weir.Runtimes;

/// <summary>What a runtime has done since it was created, read at one moment. The counts of running calls are not read atomically.</summary>
public readonly record struct RuntimeStatistics
{
    /// <summary>Calls that are running.</summary>
    public int ActiveCalls { get; init; }

    /// <summary>Items in flight.</summary>
    public int InFlight { get; init; }

    /// <summary>Items that ended with a result.</summary>
    public long Succeeded { get; init; }

    /// <summary>Items that failed or timed out.</summary>
    public long Failed { get; init; }

    /// <summary>Items that started and were cancelled because their call stopped.</summary>
    public long Cancelled { get; init; }

    /// <summary>Workers that were abandoned because their item passed its own time limit or the call's, or outlived the grace period.</summary>
    public long AbandonedWorkers { get; init; }

    /// <summary>Dedicated threads that were replaced because they were stuck in an abandoned item or had died.</summary>
    public long ReplacedThreads { get; init; }
}
