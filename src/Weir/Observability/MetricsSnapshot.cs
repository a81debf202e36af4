namespace Weir;

/// <summary>
/// What a run is doing at one moment, and has done so far. The counts are taken one after the other while workers go on, so they may differ by what happened in
/// between; those of the final sample are exact.
/// </summary>
public sealed record MetricsSnapshot
{
    /// <summary>Items inside their call at this moment.</summary>
    public required int ActiveWorkers { get; init; }

    /// <summary>How many items may be inside their call at once. It moves with <see cref="ParallelRunOptions.AdaptiveConcurrency"/>.</summary>
    public required int ConcurrencyLimit { get; init; }

    /// <summary>
    /// What waits inside the run: items that were read and have not begun, items between two attempts, and results that the consumer of a
    /// stream has not taken.
    /// </summary>
    public required long QueueDepth { get; init; }

    /// <summary>Of <see cref="QueueDepth"/>, the items that wait for another attempt or for an open circuit.</summary>
    public required int WaitingForRetry { get; init; }

    /// <summary>Items whose call has begun, also those that have ended or wait for another attempt.</summary>
    public required long ItemsStarted { get; init; }

    /// <summary>Items that have ended with a result.</summary>
    public required long ItemsCompleted { get; init; }

    /// <summary>Items that have failed or ran out of time. Those that were cancelled because the run was stopped are none.</summary>
    public required long TotalFailures { get; init; }

    /// <summary>Attempts beyond each item's first that were decided on.</summary>
    public required long TotalRetries { get; init; }

    /// <summary>How often a stream has paused reading its source because its consumer was behind.</summary>
    public required long ThrottleEvents { get; init; }

    /// <summary>How often reading went on after a pause.</summary>
    public required long DrainEvents { get; init; }

    /// <summary>The time since the start of the run.</summary>
    public required TimeSpan Elapsed { get; init; }

    /// <summary>Whether this is the last sample of the run.</summary>
    public required bool IsFinal { get; init; }

    /// <summary>Items that have ended with a result, per second since the start.</summary>
    public double ItemsPerSecond => Elapsed > TimeSpan.Zero ? ItemsCompleted / Elapsed.TotalSeconds : 0;

    /// <summary>The part of the items that have ended, apart from cancelled ones, which have failed.</summary>
    /// <value>From 0 to 1; 0 when none has ended.</value>
    public double ErrorRate => ItemsCompleted + TotalFailures == 0 ? 0 : (double)TotalFailures / (ItemsCompleted + TotalFailures);
}
