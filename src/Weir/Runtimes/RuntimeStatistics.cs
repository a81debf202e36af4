namespace Weir.Runtimes;

/// <summary>What a runtime has done since it was made, read at one moment; the counts of running calls are sums that are not atomic.</summary>
public readonly record struct RuntimeStatistics
{
    /// <summary>Calls that are running.</summary>
    public int ActiveCalls { get; init; }

    /// <summary>Items in flight.</summary>
    public int InFlight { get; init; }

    /// <summary>Items that ended with a result.</summary>
    public long Succeeded { get; init; }

    /// <summary>Items that started and ended without a result: failed, timed out or cancelled.</summary>
    public long Unsuccessful { get; init; }

    /// <summary>Workers that were given up, because their item passed its time limit or the call's, or outlived the grace period.</summary>
    public long AbandonedWorkers { get; init; }

    /// <summary>Dedicated threads that were replaced, because they were stuck in an item that was given up, or had died.</summary>
    public long ReplacedThreads { get; init; }
}
