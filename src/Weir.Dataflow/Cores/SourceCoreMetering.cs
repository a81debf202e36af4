using Weir.Dataflow.Metering;

namespace Weir.Dataflow.Cores;

/// <content>What listeners read, without a lock. What is read first is what grows later, so a message that moves is missed rather than counted twice.</content>
internal sealed partial class SourceCore<T>
{
    /// <summary>How many messages nobody took before the block ended.</summary>
    private int _discarded;

    /// <summary>How many messages wait.</summary>
    public int CountNow => _queue.Count;

    /// <summary>How many have left. To be read before those that wait.</summary>
    public long SentNow => Volatile.Read(ref _headId) - 1;

    /// <summary>How many were thrown away. To be read before those that wait.</summary>
    public int DiscardedNow => Volatile.Read(ref _discarded);

    /// <summary>Counts what has left and what waits.</summary>
    public void Sample(ref BlockSample sample)
    {
        sample.Sent = SentNow;
        sample.Output = CountNow;
    }
}
