namespace Weir.Lab.Trials;

/// <summary>What became of the items that went through a queue in a window. Any number of threads count at a time.</summary>
internal sealed class DeliveryTally
{
    private long _duplicates;
    private long _outOfOrder;
    private long _lost;
    private long _lateStarts;

    /// <summary>How often an item was processed that had been processed before.</summary>
    public long Duplicates => Volatile.Read(ref _duplicates);

    /// <summary>How many items were first processed after a later one of their key.</summary>
    public long OutOfOrder => Volatile.Read(ref _outOfOrder);

    /// <summary>How many items were published and not done in the time that the arm waits for them.</summary>
    public long Lost => Volatile.Read(ref _lost);

    /// <summary>With a rate: how many messages were published more than a millisecond after they were due.</summary>
    public long LateStarts => Volatile.Read(ref _lateStarts);

    /// <summary>Times from the call that publishes to the acknowledgement.</summary>
    public LatencyHistogram Service { get; } = new();

    /// <summary>The same from the time at which the call should have been made; <see langword="null"/> without a rate.</summary>
    public LatencyHistogram? Response { get; init; }

    /// <summary>A round with these counts. The items of a queue have no results, so there is no checksum.</summary>
    public RoundRecord Of(RoundRecord round) => round with
    {
        Duplicates = Duplicates,
        Lost = Lost,
        OutOfOrder = OutOfOrder,
        LateStarts = Response is null ? null : LateStarts,
        Service = HistogramCodec.Encode(Service),
        Response = Response is { } response ? HistogramCodec.Encode(response) : null,
        TimedOut = null,
        Checksum = null,
    };

    public void CountDuplicate() => Interlocked.Increment(ref _duplicates);

    public void CountOutOfOrder() => Interlocked.Increment(ref _outOfOrder);

    public void AddLost(long items) => Interlocked.Add(ref _lost, items);

    public void AddLateStarts(long messages) => Interlocked.Add(ref _lateStarts, messages);
}
