namespace Weir.Dataflow.Sync;

/// <summary>
/// A thread, or a worker, that has a lock for itself. An object of its own for each ownership: an owner that lost the lock between two instructions
/// still writes here, and must not write into its successor's.
/// </summary>
internal sealed class LockOwner(int id)
{
    public readonly int Id = id;

    /// <summary>Whether the owner is inside. Written by it alone, for every message: hence the cache lines of its own.</summary>
    public Padded Inside;
}
