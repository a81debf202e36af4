namespace Weir.Dataflow.Metering;

/// <summary>The counts of one block, or the sums of several.</summary>
internal struct BlockSample
{
    /// <summary>Messages that the block has taken.</summary>
    public long Received;

    /// <summary>Messages whose call has ended in any way.</summary>
    public long Processed;

    /// <summary>Messages that were thrown away before their call, because the block failed or was cancelled.</summary>
    public long Discarded;

    /// <summary>Messages that wait for their call.</summary>
    public long Queued;

    /// <summary>Messages inside their call.</summary>
    public long InFlight;

    /// <summary>Results that nobody has taken.</summary>
    public long Output;

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
    }

    public void Add(in BlockSample other)
    {
        Received += other.Received;
        Processed += other.Processed;
        Discarded += other.Discarded;
        Queued += other.Queued;
        InFlight += other.InFlight;
        Output += other.Output;
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
