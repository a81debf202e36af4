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

/// <summary>What a <see cref="WorkHost{T}"/> is doing.</summary>
public enum WorkHostState
{
    /// <summary>It has not been started.</summary>
    Created,

    /// <summary>It reads and processes.</summary>
    Running,

    /// <summary>It has stopped reading, and finishes its items.</summary>
    Draining,

    /// <summary>It has ended normally: everything that was read is done or returned.</summary>
    Stopped,

    /// <summary>It has ended with an exception. Items that were read but are not done will be delivered again.</summary>
    Failed,
}
