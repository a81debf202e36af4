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

    /// <summary>Failures and time-outs. An item counts each time.</summary>
    public long Failed { get; init; }

    /// <summary>Items that were stored for another attempt.</summary>
    public long Redelivered { get; init; }

    /// <summary>Items that became dead letters.</summary>
    public long DeadLettered { get; init; }

    /// <summary>Items that were returned because the host stopped.</summary>
    public long Returned { get; init; }

    /// <summary>Batches that were acknowledged.</summary>
    public long AcknowledgedBatches { get; init; }

    /// <summary>Items that were read but are not acknowledged yet.</summary>
    public long InFlight { get; init; }

    /// <summary>How long ago the oldest batch was read that is not acknowledged; zero if there is none. It says nothing about what nobody has read.</summary>
    public TimeSpan Lag { get; init; }

    /// <summary>Failed calls to read, acknowledge or store, which were repeated.</summary>
    public long Faults { get; init; }

    /// <summary>The exception of the last failed call; <see langword="null"/> if there was none, or if the same kind of call has succeeded since.</summary>
    public Exception? LastFault { get; init; }
}
