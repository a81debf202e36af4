using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Cores;

/// <content>
/// Room that a worker frees without the lock: it counts, and then checks whether a sender waits. A sender that waits first announces this, makes all processors
/// fence, and then looks at the count. One of the two sees the other.
/// </content>
internal abstract partial class TargetCore<T>
{
    private readonly FreedCount? _freedByWorker;

    protected bool WorkerFrees => _freedByWorker is not null;

    /// <summary>One more message is done. Called by the only worker of a block that counts in this way.</summary>
    protected void FreeByWorker()
    {
        FreedCount count = _freedByWorker!;
        Volatile.Write(ref count.Freed.Value, count.Freed.Value + 1);
        ProcessBarrier.Light();
        if (count.IsAwaited)
        {
            FreeAwaited(count);
        }
    }

    private void FreeAwaited(FreedCount count)
    {
        LockOwner? key = StateLock.Enter();
        ReclaimNeedsLock(count);
        AssertInvariants();
        bool pull = StartPullNeedsLock();
        count.IsAwaited = _postponed is { Count: > 0 };
        StateLock.Exit(key);
        if (pull)
        {
            Pull(here: true);
        }
    }

    /// <summary>A sender was added to the list of waiters.</summary>
    /// <returns>Whether there is room after all. If so, the caller owns the pull.</returns>
    private bool BeginWaitNeedsLock()
    {
        if (_freedByWorker is not { } count)
        {
            return false;
        }

        count.IsAwaited = true;
        ProcessBarrier.Heavy();
        return StartPullNeedsLock();
    }

    private bool HasCapacityNeedsLock() => _used < _capacity || (_freedByWorker is { } count && ReclaimNeedsLock(count));

    private bool ReclaimNeedsLock(FreedCount count)
    {
        long freed = Volatile.Read(ref count.Freed.Value);
        _used -= (int)(freed - count.Reclaimed);
        count.Reclaimed = freed;
        return _used < _capacity;
    }
}
