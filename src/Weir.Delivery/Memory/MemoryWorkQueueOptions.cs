namespace Weir.Delivery;

/// <summary>The options of a <see cref="MemoryWorkQueue{T}"/>. Immutable: a <c>with</c> expression makes a changed copy.</summary>
public sealed record MemoryWorkQueueOptions
{
    /// <summary>
    /// The maximum number of items that are not done: waiting, being processed, or waiting for another attempt. When the queue is full, publishing waits.
    /// </summary>
    /// <value>At least 1. The default is 65,536.</value>
    public int Capacity { get; init; } = 65_536;

    /// <summary>The maximum number of dead letters. Beyond it, the oldest are dropped.</summary>
    /// <value>At least 1. The default is 10,000.</value>
    public int MaxDeadLetters { get; init; } = 10_000;

    /// <summary>The maximum number of items in a batch.</summary>
    /// <value>At least 1. The default is 256.</value>
    public int MaxItemsPerBatch { get; init; } = 256;

    /// <summary>The clock for the delays between attempts.</summary>
    /// <value>The default is <see cref="TimeProvider.System"/>.</value>
    public TimeProvider TimeProvider { get; init; } = TimeProvider.System;

    internal void Validate()
    {
        Require.AtLeastOne(Capacity, nameof(Capacity));
        Require.AtLeastOne(MaxDeadLetters, nameof(MaxDeadLetters));
        Require.AtLeastOne(MaxItemsPerBatch, nameof(MaxItemsPerBatch));
        ArgumentNullException.ThrowIfNull(TimeProvider, nameof(TimeProvider));
    }
}
