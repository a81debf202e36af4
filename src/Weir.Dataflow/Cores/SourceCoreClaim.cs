using System.Diagnostics.CodeAnalysis;
using System.Threading.Tasks.Dataflow;
using Weir.Dataflow.Sync;
using Weir.Dataflow.Links;

namespace Weir.Dataflow.Cores;

/// <content>Reserving, consuming and receiving.</content>
internal sealed partial class SourceCore<T>
{
    public T? Consume(DataflowMessageHeader messageHeader, ITargetBlock<T> target, out bool messageConsumed)
    {
        Protocol.CheckClaim(messageHeader, target);
        T item;
        lock (this)
        {
            LockOwner? key = _stateLock.Enter();
            if ((_reservedFor is not null && _reservedFor != target) || messageHeader.Id != _headId || _queue.Count == 0)
            {
                _stateLock.Exit(key);
                messageConsumed = false;
                return default;
            }

            item = TakeHeadNeedsLock();
            if (_links.Find(target) is { } link && link.CountDown())
            {
                RemoveNeedsLock(link);
            }

            LeaveAfterClaim(key);
        }

        Left(item);
        messageConsumed = true;
        return item;
    }

    public bool Reserve(DataflowMessageHeader messageHeader, ITargetBlock<T> target)
    {
        Protocol.CheckClaim(messageHeader, target);
        lock (this)
        {
            LockOwner? key = _stateLock.Enter();
            bool reserved = _reservedFor is null && messageHeader.Id == _headId && _queue.Count > 0 && !_finishing;
            if (reserved)
            {
                _reservedFor = target;
            }

            _stateLock.Exit(key);
            return reserved;
        }
    }

    public void Release(DataflowMessageHeader messageHeader, ITargetBlock<T> target)
    {
        Protocol.CheckClaim(messageHeader, target);
        lock (this)
        {
            LockOwner? key = _stateLock.Enter();
            if (_reservedFor != target || messageHeader.Id != _headId)
            {
                _stateLock.Exit(key);
                throw Protocol.NotReserved();
            }

            _reservedFor = null;
            _refused = false;
            LeaveAfterClaim(key);
        }
    }

    public override bool TryReceive([MaybeNullWhen(false)] out T item)
    {
        LockOwner? key = _stateLock.Enter();
        if (_queue.Count == 0 || _reservedFor is not null)
        {
            _stateLock.Exit(key);
            item = default;
            return false;
        }

        if (_links.First is null && !_offering)
        {
            item = TakeHeadNeedsLock();
            bool finish = _completing && TryFinishNeedsLock();
            _stateLock.Exit(key);
            FinishIf(finish);
            Left(item);
            return true;
        }

        _stateLock.Exit(key);
        return TryReceive(null, out item);
    }

    public override bool TryReceive(Predicate<T>? filter, [MaybeNullWhen(false)] out T item)
    {
        while (true)
        {
            long id;
            if (filter is not null)
            {
                // The filter is user code: it runs outside the locks, on a message that may no longer be the head when it returns.
                LockOwner? peek = _stateLock.Enter();
                bool any = _queue.Count > 0 && _reservedFor is null;
                item = any ? _queue.Peek() : default;
                id = _headId;
                _stateLock.Exit(peek);
                if (!any || !filter(item!))
                {
                    item = default;
                    return false;
                }
            }
            else
            {
                id = -1;
            }

            // Inside the monitor, no other thread is offering the head; only this thread may be.
            lock (this)
            {
                LockOwner? key = _stateLock.Enter();
                AssertInvariants();
                if (_queue.Count == 0 || _reservedFor is not null)
                {
                    _stateLock.Exit(key);
                    item = default;
                    return false;
                }

                if (id >= 0 && id != _headId)
                {
                    _stateLock.Exit(key);
                    continue;
                }

                item = TakeHeadNeedsLock();
                LeaveAfterClaim(key);
            }

            Left(item);
            return true;
        }
    }

    public override bool TryReceiveAll([NotNullWhen(true)] out IList<T>? items)
    {
        List<T> all;
        lock (this)
        {
            LockOwner? key = _stateLock.Enter();
            if (_queue.Count == 0 || _reservedFor is not null)
            {
                _stateLock.Exit(key);
                items = null;
                return false;
            }

            try
            {
                all = _queue.TakeAll();
            }
            catch
            {
                _stateLock.Exit(key);
                throw;
            }

            Volatile.Write(ref _headId, _headId + all.Count);
            _refused = false;
            LeaveAfterClaim(key);
        }

        if (_options.IsBounded)
        {
            int weight = 0;
            foreach (T item in all)
            {
                weight += CountOf(item);
            }

            _host.OutputLeft(weight);
        }

        items = all;
        return true;
    }

    /// <summary>Leaves the lock after the head changed or became free: the next one is offered, or the block is complete.</summary>
    private void LeaveAfterClaim(LockOwner? key)
    {
        bool offer = QueueOfferNeedsLock();
        bool finish = TryFinishNeedsLock();
        _stateLock.Exit(key);
        FinishIf(finish);
        if (offer)
        {
            AfterLock();
        }
    }
}
