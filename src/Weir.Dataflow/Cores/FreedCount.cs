using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Cores;

/// <summary>How much room the only worker of a bounded block has freed without the lock, since the block was created.</summary>
internal sealed class FreedCount
{
    /// <summary>The worker writes it for every message.</summary>
    public Padded Freed;

    /// <summary>The part of it that is no longer counted as in use. Guarded by the lock.</summary>
    public long Reclaimed;

    /// <summary>A sender waits for room, so the worker must take the lock.</summary>
    public volatile bool IsAwaited;
}
