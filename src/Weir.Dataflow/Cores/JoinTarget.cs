using System.Threading.Tasks.Dataflow;
using Weir.Dataflow.Debugging;
using Weir.Dataflow.Links;
using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Cores;

/// <summary>One of the targets of a join. Its queue is guarded by the join's lock, which comes after its own.</summary>
internal sealed class JoinTarget<T> : JoinedTarget<T>, IJoinTarget
{
    private readonly JoinShared _join;
    private MessageQueue<T> _queue;
    private long _claimed;
    private PostponedOffer<T>? _fetched;
    private T? _item;

    /// <summary>The join has failed: a message that was being consumed meanwhile is thrown away too. Guarded by the join's lock.</summary>
    private bool _dropped;

    /// <summary>Whether a message that is not to be consumed needs nothing but its place in the queue.</summary>
    private readonly bool _isPlain;

    public JoinTarget(JoinShared join, BlockOptions options)
        : base(options)
    {
        _join = join;
        _isPlain = options is { IsBounded: false, Greedy: true, MaxGroups: long.MaxValue };
    }

    bool IJoinTarget.HasItemNeedsLock => _queue.Count > 0;

    int IJoinTarget.CountNow => _queue.Count;

    protected override IJoin Owner => _join;

    protected override bool TakesOffersNeedsLock => Options.Greedy;

    public T PeekNeedsLock() => _queue.Peek();

    public override void TakenNeedsLock()
    {
        _queue.Dequeue();
        if (_queue.Count == 0)
        {
            _join.OnEmptiedNeedsLock();
        }
    }

    public override DataflowMessageStatus OfferMessage(
        DataflowMessageHeader messageHeader, T messageValue, ISourceBlock<T>? source, bool consumeToAccept)
    {
        if (!_isPlain || consumeToAccept || !messageHeader.IsValid)
        {
            return base.OfferMessage(messageHeader, messageValue, source, consumeToAccept);
        }

        // The join's lock is enough: who ends this target says so first, and then looks under that lock whether the queue is empty.
        LockOwner? key = _join.StateLock.Enter();
        if (IsDeclining)
        {
            _join.StateLock.Exit(key);
            return DataflowMessageStatus.DecliningPermanently;
        }

        IAfterLock? after = StoreInJoinNeedsLock(messageValue);
        _join.StateLock.Exit(key);
        after?.AfterLock();
        return DataflowMessageStatus.Accepted;
    }

    /// <inheritdoc/>
    public override void Show(BlockView view)
    {
        base.Show(view);
        view.Input = _queue.ToArray();
    }

    void IJoinTarget.FailInside(Exception exception) => Complete(exception, drop: true, always: true);

    bool IJoinTarget.CanFetch()
    {
        LockOwner? key = StateLock.Enter();
        bool can = !IsDeclining && PostponedNeedsLock is { Count: > 0 } && (!IsBounded || UsedNeedsLock < Options.Capacity);
        StateLock.Exit(key);
        return can;
    }

    bool IJoinTarget.TryReserve()
    {
        // If a message is gone, the one behind it takes its turn. If the fetch were given up instead, messages that other targets have reserved would be
        // released, and offered again behind what the same senders have sent meanwhile.
        while (true)
        {
            LockOwner? key = StateLock.Enter();
            PostponedOffer<T>? offer = IsDeclining ? null : (PostponedOffer<T>?)PostponedNeedsLock?.RemoveFirst();
            StateLock.Exit(key);
            if (offer is null)
            {
                return false;
            }

            if (offer.Source.ReserveMessage(offer.Header, this))
            {
                _fetched = offer;
                return true;
            }
        }
    }

    void IJoinTarget.ReleaseReserved()
    {
        if (_fetched is { } offer)
        {
            _fetched = null;
            offer.Source.ReleaseReservation(offer.Header, this);
        }
    }

    void IJoinTarget.ConsumeReserved()
    {
        PostponedOffer<T> offer = _fetched!;
        _fetched = null;
        _item = offer.Source.ConsumeMessage(offer.Header, this, out bool consumed);
        if (!consumed)
        {
            throw Protocol.NotConsumed();
        }
    }

    /// <summary>Puts what was consumed into the queue, from where the join takes it like any other.</summary>
    void IJoinTarget.StoreConsumed()
    {
        LockOwner? key = StateLock.Enter();
        T item = _item!;
        _item = default;
        Leave(key, TakeNeedsLock(item));
    }

    protected override IAfterLock? StoreNeedsLock(T item)
    {
        LockOwner? key = _join.StateLock.Enter();
        IAfterLock? after = StoreInJoinNeedsLock(item);
        bool enough = _join.MadeNeedsLock + _queue.Count >= Options.MaxGroups;
        _join.StateLock.Exit(key);
        if (enough)
        {
            CompleteNeedsLock(null, drop: false, always: false);
        }

        return after;
    }

    private IAfterLock? StoreInJoinNeedsLock(T item)
    {
        if (_dropped)
        {
            _join.OnDiscardedNeedsLock(1);
            return null;
        }

        if (!_queue.TryEnqueue(item))
        {
            return NoMemory.Instance;
        }

        if (_queue.Count == 1)
        {
            _join.OnFilledNeedsLock();
        }

        IAfterLock? after = _join.JoinNeedsLock();
        if (ReferenceEquals(after, NoMemory.Instance))
        {
            // No tuple could be made before, so it is the only message of this target.
            TakenNeedsLock();
        }

        return after;
    }

    // One for each tuple that will be made.
    protected override bool ClaimNeedsLock()
    {
        if (_claimed >= Options.MaxGroups)
        {
            return false;
        }

        _claimed++;
        return true;
    }

    protected override IAfterLock? ReleaseClaimNeedsLock()
    {
        _claimed--;
        return null;
    }

    protected override IAfterLock? OnPostponedNeedsLock() => Options.Greedy ? null : _join;

    protected override IAfterLock? OnRoomNeedsLock() => OnPostponedNeedsLock();

    protected override void DeclinedNeedsLock() => _join.TargetDeclines();

    protected override void DropNeedsLock()
    {
        LockOwner? key = _join.StateLock.Enter();
        _dropped = true;
        if (_queue.Count > 0)
        {
            int discarded = _queue.Count;
            _join.OnEmptiedNeedsLock();
            _queue.Clear();
            _join.OnDiscardedNeedsLock(discarded);
        }

        _join.StateLock.Exit(key);
    }

    protected override bool IsDrainedNeedsLock()
    {
        LockOwner? key = _join.StateLock.Enter();
        bool drained = _queue.Count == 0 && !_join.IsFetchingNeedsLock;
        _join.StateLock.Exit(key);
        return drained;
    }

    protected override void FaultJoin(Exception exception)
    {
        if (IsDeclining)
        {
            _join.FailAll();
        }
        else
        {
            _join.Fault(exception);
        }
    }
}
