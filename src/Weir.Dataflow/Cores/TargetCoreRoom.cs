using Weir.Core;
using Weir.Dataflow.Links;
using Weir.Dataflow.Sync;
using Weir.Dataflow.Waiters;

namespace Weir.Dataflow.Cores;

/// <content>Waiting for room, and using room that becomes free.</content>
internal abstract partial class TargetCore<T>
{
    private SendWaiter<T>? _spareSender;

    public virtual Task<bool> SendAsync(T item, CancellationToken cancellationToken)
    {
        if (cancellationToken.IsCancellationRequested)
        {
            return Task.FromCanceled<bool>(cancellationToken);
        }

        if (Post(item))
        {
            return Completed.True;
        }

        if (IsDeclining)
        {
            return Completed.False;
        }

        SendWaiter<T> waiter = new(this, isReused: false);
        Wait(waiter, item, cancellationToken);
        return waiter.Task;
    }

    public virtual ValueTask<bool> SendValueAsync(T item, CancellationToken cancellationToken)
    {
        if (cancellationToken.IsCancellationRequested)
        {
            return ValueTask.FromCanceled<bool>(cancellationToken);
        }

        if (Post(item))
        {
            return new ValueTask<bool>(true);
        }

        if (IsDeclining)
        {
            return new ValueTask<bool>(false);
        }

        SendWaiter<T> waiter = Interlocked.Exchange(ref _spareSender, null) ?? new SendWaiter<T>(this, isReused: true);
        ValueTask<bool> task = waiter.Begin();
        Wait(waiter, item, cancellationToken);
        return task;
    }

    private void Wait(SendWaiter<T> waiter, T item, CancellationToken cancellationToken)
    {
        waiter.Value = item;
        if (cancellationToken.CanBeCanceled)
        {
            waiter.Registration = cancellationToken.UnsafeRegister(
                static (state, token) => Unattended.Run((SendWaiter<T>)state!, static (waiter, token) => waiter.Abandon(token), token), waiter);
        }

        Enlist(waiter, cancellationToken);
    }

    public void GiveUp(SendWaiter<T> waiter, CancellationToken token)
    {
        LockOwner? key = StateLock.Enter();
        bool removed = _postponed?.Remove(waiter) ?? false;
        waiter.IsGivenUp = true;
        StateLock.Exit(key);
        if (removed)
        {
            waiter.GiveUp(token);
        }
    }

    public void Keep(SendWaiter<T> waiter) => Volatile.Write(ref _spareSender, waiter);

    /// <summary>Room became free. Called under no lock.</summary>
    /// <param name="count">How much.</param>
    /// <param name="here">Whether this thread may call sources, because it is a worker of the block and holds no lock.</param>
    public void Free(int count, bool here)
    {
        if (!IsBounded)
        {
            return;
        }

        LockOwner? key = StateLock.Enter();
        _used -= count;
        AssertInvariants();
        if (_postponed is not { Count: > 0 })
        {
            // The room may be used for the last batch, with which the block ends.
            Leave(key, _pulling ? null : OnRoomNeedsLock());
            return;
        }

        SendWaiter<T>? taken = null;
        IAfterLock? after = null;
        if (!_pulling && !_isLimited && MayPullNeedsLock() && _postponed.First is SendWaiter<T> first && !TakesByPullNeedsLock)
        {
            // The message of a pending send, without coming back for it.
            after = TakeNeedsLock(first.Value!);
            if (ReferenceEquals(after, NoMemory.Instance))
            {
                // The thread that made the room has its message and need not be told.
                _pulling = true;
                StateLock.Exit(key);
                EndPull(NoMemory.Exception());
                return;
            }

            taken = first;
            _postponed.Remove(first);
        }

        // The work that the store leaves may make room in turn. Then this call continues with it, so that calls do not nest.
        bool pull = taken is not null && after is not null && !ReferenceEquals(after, this) ? _pulling = true : StartPullNeedsLock();
        if (!_pulling && taken is null)
        {
            after = OnRoomNeedsLock();
        }

        Leave(key, after);
        taken?.AfterLock();
        if (pull)
        {
            Pull(here);
        }
    }

    /// <summary>Takes postponed messages, if that is allowed now.</summary>
    protected void Retry()
    {
        LockOwner? key = StateLock.Enter();
        bool pull = StartPullNeedsLock();
        StateLock.Exit(key);
        if (pull)
        {
            QueuePull();
        }
    }

    protected bool StartPullNeedsLock()
    {
        if (_pulling || !MayPullNeedsLock())
        {
            return false;
        }

        return _pulling = true;
    }

    /// <summary>Lets a work item of the block call the sources. The caller already owns the pull.</summary>
    protected void QueuePull()
    {
        try
        {
            if (Options.OnDefaultScheduler)
            {
                ThreadPool.UnsafeQueueUserWorkItem(static target => target.PullUnattended(), this, preferLocal: false);
            }
            else
            {
                new Task(static target => ((TargetCore<T>)target!).PullUnattended(), this, TaskCreationOptions.DenyChildAttach).Start(Options.Scheduler);
            }
        }
        catch (Exception e)
        {
            EndPull(e);
        }
    }

    // Without its end, no other pull would begin, and the block would wait for it.
    private void PullUnattended() =>
        Unattended.Run(this, static target => target.Pull(here: true), static (target, error) => target.EndPull(error));

    /// <summary>Takes postponed messages while there is room: pending sends on any thread, sources only on threads that may call them.</summary>
    protected void Pull(bool here)
    {
        while (true)
        {
            LockOwner? key = StateLock.Enter();
            AssertInvariants();
            PostponedNode<T>? node = MayPullNeedsLock() ? _postponed!.First : null;
            if (_isLimited && node is not null && (here || node is SendWaiter<T>) && !ClaimNeedsLock())
            {
                node = null;
            }

            if (node is null)
            {
                IAfterLock? room = OnRoomNeedsLock();
                _pulling = false;
                Leave(key, room);
                return;
            }

            if (node is PostponedOffer<T> && !here)
            {
                StateLock.Exit(key);
                QueuePull();
                return;
            }

            if (node is SendWaiter<T> waiter)
            {
                IAfterLock? after = TakeNeedsLock(waiter.Value!);
                if (ReferenceEquals(after, NoMemory.Instance))
                {
                    StateLock.Exit(key);
                    EndPull(NoMemory.Exception());
                    return;
                }

                _postponed!.Remove(node);
                Leave(key, after);
                waiter.AfterLock();
                continue;
            }

            _postponed!.Remove(node);
            AddUsedNeedsLock(1);
            StateLock.Exit(key);
            try
            {
                PostponedOffer<T> offer = (PostponedOffer<T>)node;
                TryConsume(offer.Header, offer.Source, offered: false);
            }
            catch (Exception e)
            {
                EndPull(e);
                return;
            }
        }
    }

    /// <summary>Whether postponed messages are being taken.</summary>
    protected bool IsPullingNeedsLock => _pulling;

    private bool MayPullNeedsLock() =>
        !_declining && _postponed is { Count: > 0 } && HasCapacityNeedsLock() && TakesOffersNeedsLock;

    /// <summary>A source or the scheduler threw: the block fails.</summary>
    private void EndPull(Exception exception)
    {
        LockOwner? key = StateLock.Enter();
        try
        {
            _pulling = false;
            CompleteNeedsLock(exception, drop: true, always: true);
        }
        finally
        {
            Leave(key, null);
        }
    }

    private void Enlist(SendWaiter<T> waiter, CancellationToken cancellationToken)
    {
        LockOwner? key = StateLock.Enter();
        AssertInvariants();
        if (waiter.IsGivenUp)
        {
            StateLock.Exit(key);
            waiter.GiveUp(cancellationToken);
        }
        else if (_declining)
        {
            StateLock.Exit(key);
            waiter.Finish(accepted: false);
        }
        else if (HasRoomNeedsLock())
        {
            Leave(key, TakeNeedsLock(waiter.Value!));
            waiter.AfterLock();
        }
        else
        {
            bool pull = false;
            try
            {
                (_postponed ??= new PostponedList<T>()).Add(waiter);
                pull = BeginWaitNeedsLock();
            }
            finally
            {
                StateLock.Exit(key);
            }

            if (pull)
            {
                Pull(here: false);
            }
        }
    }
}
