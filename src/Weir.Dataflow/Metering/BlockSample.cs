namespace Weir.Dataflow.Metering;

/// <summary>The counts of one block, or the sums of several.</summary>
internal struct BlockSample
{
    /// <summary>Messages that the block has taken.</summary>
    public long Received;

    /// <summary>Messages whose call has ended in any way. Without a call: that the block has passed on, or made part of a group.</summary>
    public long Processed;

    /// <summary>Messages that were thrown away before that, because the block failed, was cancelled, or has no partners for them.</summary>
    public long Discarded;

    /// <summary>Messages that wait for their call or their group.</summary>
    public long Queued;

    /// <summary>Messages inside their call.</summary>
    public long InFlight;

    /// <summary>Results that nobody has taken.</summary>
    public long Output;

    /// <summary>Results that have left.</summary>
    public long Sent;

    /// <summary>Blocks under way.</summary>
    public long Blocks;

    /// <summary>The parts of <see cref="Processed"/> whose call did not succeed, by what it threw; null for cancelled ones.</summary>
    public Dictionary<string, long>? Failed;

    public long Cancelled;

    /// <summary>Counts are read while messages move, so what only grows is kept from going back.</summary>
    public void NotBefore(in BlockSample last)
    {
        Received = Math.Max(Received, last.Received);
        Processed = Math.Max(Processed, last.Processed);
        Discarded = Math.Max(Discarded, last.Discarded);
        Sent = Math.Max(Sent, last.Sent);
    }

    public void Add(in BlockSample other)
    {
        Received += other.Received;
        Processed += other.Processed;
        Discarded += other.Discarded;
        Queued += other.Queued;
        InFlight += other.InFlight;
        Output += other.Output;
        Sent += other.Sent;
        Blocks += other.Blocks;
        Cancelled += other.Cancelled;
        foreach ((string type, long count) in other.Failed ?? [])
        {
            Failed ??= new(StringComparer.Ordinal);
            Failed[type] = Failed.GetValueOrDefault(type) + count;
        }
    }

    /// <summary>Nothing is under way any more.</summary>
    public void End() => Queued = InFlight = Output = Blocks = 0;
}
