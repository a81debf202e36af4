using Weir.Dataflow.Debugging;
using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Cores;

/// <summary>One of the targets of a batched join. Its list is guarded by the join's lock, which comes after its own.</summary>
internal sealed class BatchedJoinTarget<T>(BatchedJoinShared join, BlockOptions options) : JoinedTarget<T>(options), IBatchedJoinTarget
{
    private readonly BatchedJoinShared _join = join;
    private List<T> _items = [];
    private List<T>? _next;

    protected override IJoin Owner => _join;

    /// <summary>The list so far. The target owns it until <see cref="TakenNeedsLock"/>, which cannot fail.</summary>
    public IList<T> BeginTakeNeedsLock()
    {
        _next ??= [];
        return _items;
    }

    public override void TakenNeedsLock()
    {
        _items = _next!;
        _next = null;
    }

    /// <inheritdoc/>
    public override void Show(BlockView view)
    {
        base.Show(view);
        view.Input = _items.ToArray();
    }

    void IBatchedJoinTarget.Retry() => Retry();

    protected override IAfterLock? StoreNeedsLock(T item)
    {
        LockOwner? key = _join.StateLock.Enter();
        IAfterLock? after = StoreInJoinNeedsLock(item);
        bool enough = _join.HasEnoughNeedsLock;
        _join.StateLock.Exit(key);
        if (enough)
        {
            CompleteNeedsLock(null, drop: false, always: false);
        }

        return after;
    }

    private IAfterLock? StoreInJoinNeedsLock(T item)
    {
        if (_items.Count < _items.Capacity || TryGrow())
        {
            _items.Add(item);
            IAfterLock? after = _join.CountNeedsLock();
            if (ReferenceEquals(after, NoMemory.Instance))
            {
                _items.RemoveAt(_items.Count - 1);
            }

            return after;
        }

        return NoMemory.Instance;
    }

    private bool TryGrow()
    {
        try
        {
            MemoryPoint.Pass(typeof(BatchedJoinTarget<T>));
            _items.EnsureCapacity(_items.Count + 1);
            return true;
        }
        catch (OutOfMemoryException)
        {
            return false;
        }
    }

    protected override bool ClaimNeedsLock()
    {
        LockOwner? key = _join.StateLock.Enter();
        bool claimed = _join.ClaimNeedsLock();
        _join.StateLock.Exit(key);
        return claimed;
    }

    protected override IAfterLock? ReleaseClaimNeedsLock()
    {
        LockOwner? key = _join.StateLock.Enter();
        IAfterLock after = _join.ReleaseClaimNeedsLock();
        _join.StateLock.Exit(key);
        return after;
    }

    protected override void DropNeedsLock()
    {
        LockOwner? key = _join.StateLock.Enter();
        _join.OnDiscardedNeedsLock(_items.Count);
        _items.Clear();
        _join.StateLock.Exit(key);
    }

    protected override bool IsDrainedNeedsLock() => true;

    /// <summary>The callback of the token failed, which is that of the whole join.</summary>
    public override void WorkFailed(Exception error)
    {
        base.WorkFailed(error);
        _join.FailAll();
    }
}
