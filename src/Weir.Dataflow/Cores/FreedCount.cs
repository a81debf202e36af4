using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Cores;

/// <summary>How much room the one worker of a bounded block has given back without the lock, since the beginning.</summary>
internal sealed class FreedCount
{
    /// <summary>Written by the worker, for every message.</summary>
    public Padded Freed;

    /// <summary>What of it is no longer counted as in use. Guarded by the lock.</summary>
    public long Reclaimed;

    /// <summary>Somebody waits for room, so the worker has to come to the lock.</summary>
    public volatile bool IsAwaited;
}
