namespace Weir.Delivery;

/// <summary>What a <see cref="WorkHost{T}"/> has done so far.</summary>
public readonly record struct WorkHostStatistics
{
    /// <summary>What the host is doing.</summary>
    public WorkHostState State { get; init; }

    /// <summary>Items that were read.</summary>
    public long Read { get; init; }

    /// <summary>Items that were processed.</summary>
    public long Succeeded { get; init; }

    /// <summary>Items that failed or timed out, each time they did.</summary>
    public long Failed { get; init; }

    /// <summary>Items that were kept for another attempt.</summary>
    public long Redelivered { get; init; }

    /// <summary>Items that became dead letters.</summary>
    public long DeadLettered { get; init; }

    /// <summary>Items that were given back because the host stopped.</summary>
    public long Returned { get; init; }

    /// <summary>Batches that were acknowledged.</summary>
    public long AcknowledgedBatches { get; init; }

    /// <summary>Items that were read and are not acknowledged yet.</summary>
    public long InFlight { get; init; }

    /// <summary>Calls around the items that failed and were repeated: reading, acknowledging, storing.</summary>
    public long Faults { get; init; }

    /// <summary>The last one of these; <see langword="null"/> if there was none, or if the same kind of call has succeeded since.</summary>
    public Exception? LastFault { get; init; }
}
