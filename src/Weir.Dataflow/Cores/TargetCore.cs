using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Threading.Tasks.Dataflow;
using Weir.Core;
using Weir.Dataflow.Debugging;
using Weir.Dataflow.Links;
using Weir.Dataflow.Sync;
using Weir.Dataflow.Waiters;

namespace Weir.Dataflow.Cores;

/// <summary>
/// The input side of a block: what it accepts, postpones and declines, and when its input ends. Derived classes decide what to do with a message.
/// </summary>
internal abstract partial class TargetCore<T> : DirectTarget<T>, ISendTarget<T>, IUnattended, IViewable
{
    protected BiasedLock StateLock;
    private readonly int _capacity;

    /// <summary>Whether the block takes a limited number of messages in its life. If so, each is claimed before it is taken or consumed.</summary>
    private readonly bool _isLimited;
    private PostponedList<T>? _postponed;
    private List<Exception>? _exceptions;

    /// <summary>How much of the capacity is in use. Unbounded blocks do not count it.</summary>
    private int _used;

    /// <summary>How many messages are being consumed from sources at this moment.</summary>
    private int _transfers;

    /// <summary>A thread is taking postponed messages, so no other thread may, and no message may overtake them.</summary>
    private bool _pulling;
    private bool _declining;
    private bool _finishing;

    /// <summary>Set only if the block has a token.</summary>
    private StrongBox<CancellationTokenRegistration>? _registration;

    protected TargetCore(BlockOptions options, bool workerFrees = false)
    {
        _freedByWorker = workerFrees ? new FreedCount() : null;
        Options = options;
        _capacity = options.Capacity;
        _isLimited = options.MaxGroups != long.MaxValue;
    }

    public BlockOptions Options { get; }

    public sealed override bool IsDeclining => Volatile.Read(ref _declining);

    protected bool IsDecliningNeedsLock => _declining;

    public sealed override bool IsBounded => _capacity != BlockOptions.Unbounded;

    /// <summary>The block itself, as sources know it.</summary>
    protected abstract ITargetBlock<T> Self { get; }

    protected PostponedList<T>? PostponedNeedsLock => _postponed;

    protected int UsedNeedsLock => _used;

    /// <summary>Whether postponed messages are declined as soon as the block declines, rather than once it has processed what it has.</summary>
    protected virtual bool DeclinesPostponedEarly => false;

    /// <summary>Whether <see cref="Finished"/> calls blocks other than this one.</summary>
    protected virtual bool EndReachesOthers => false;

    /// <summary>Whether pending sends are taken by a pull only, which tells when nothing more can be taken.</summary>
    protected virtual bool TakesByPullNeedsLock => false;

    /// <summary>Whether messages are taken when they are offered. Otherwise they are postponed, and the derived class fetches them.</summary>
    protected virtual bool TakesOffersNeedsLock => true;

    /// <summary>Starts to listen to the token. A block's constructor does this last.</summary>
    public void ListenToToken()
    {
        if (Options.Token.CanBeCanceled)
        {
            _registration = new(Options.Token.UnsafeRegister(
                static target => Unattended.Run((TargetCore<T>)target!, static target => target.Cancelled()), this));

            // The token may have ended the block before the registration was stored. Then StopListening found none, and it is removed here.
            if (Volatile.Read(ref _finishing))
            {
                _registration?.Value.Unregister();
            }
        }
    }

    public virtual bool Post(T item)
    {
        LockOwner? key = StateLock.Enter();
        AssertInvariants();
        if (_declining || !HasRoomNeedsLock())
        {
            StateLock.Exit(key);
            return false;
        }

        Leave(key, TakeNeedsLock(item));
        return true;
    }

    /// <inheritdoc/>
    public override bool TryAcceptDirect(T item, int sourceId, out IAfterLock? after)
    {
        LockOwner? key = StateLock.Enter(sourceId);
        if (_declining || !HasRoomNeedsLock())
        {
            StateLock.Exit(key);
            after = null;
            return false;
        }

        after = TakeNeedsLock(item);
        StateLock.Exit(key);
        return true;
    }

    public DataflowMessageStatus Offer(DataflowMessageHeader messageHeader, T messageValue, ISourceBlock<T>? source, bool consumeToAccept)
    {
        Protocol.CheckOffer(messageHeader, source, consumeToAccept);
        LockOwner? key = StateLock.Enter();
        AssertInvariants();
        if (_declining)
        {
            StateLock.Exit(key);
            return DataflowMessageStatus.DecliningPermanently;
        }

        if (HasRoomNeedsLock())
        {
            if (consumeToAccept)
            {
                // The source's locks come before this lock, so leave it for the call. Meanwhile, the place is taken and completion waits.
                AddUsedNeedsLock(1);
                _transfers++;
                StateLock.Exit(key);
                return TryConsume(messageHeader, source!, offered: true) ? DataflowMessageStatus.Accepted : DataflowMessageStatus.NotAvailable;
            }

            Leave(key, TakeNeedsLock(messageValue));
            return DataflowMessageStatus.Accepted;
        }

        if (source is null)
        {
            StateLock.Exit(key);
            return DataflowMessageStatus.Declined;
        }

        IAfterLock? work;
        bool pull;
        try
        {
            (_postponed ??= new PostponedList<T>()).Add(source, messageHeader);
            work = OnPostponedNeedsLock();
            pull = BeginWaitNeedsLock();
        }
        finally
        {
            StateLock.Exit(key);
        }

        work?.AfterLock();
        if (pull)
        {
            QueuePull();
        }

        return DataflowMessageStatus.Postponed;
    }

    /// <summary>No more messages are accepted.</summary>
    /// <param name="exception">Why the block fails, or null.</param>
    /// <param name="drop">Whether to discard messages that were accepted and are not yet being processed.</param>
    /// <param name="always">Whether the exception counts even if the block was already completing, because it came from inside.</param>
    public void Complete(Exception? exception, bool drop, bool always = false)
    {
        bool finish;
        bool decline;
        LockOwner? key = StateLock.Enter();
        try
        {
            AssertInvariants();
            CompleteNeedsLock(exception, drop, always);
            finish = TryFinishNeedsLock();
            decline = DeclinesPostponedEarly && !finish && _postponed is { Count: > 0 };
        }
        finally
        {
            StateLock.Exit(key);
        }

        FinishIf(finish);
        if (decline)
        {
            ThreadPool.UnsafeQueueUserWorkItem(
                static target => Unattended.Run(target, static target => target.DeclineAllPostponed()), this, preferLocal: false);
        }
    }

    /// <summary>A work item, a timer or the token's callback failed: the block faults.</summary>
    public virtual void WorkFailed(Exception error) => Complete(error, drop: true, always: true);

    protected void CompleteNeedsLock(Exception? exception, bool drop, bool always)
    {
        if (exception is not null && (!_declining || always))
        {
            (_exceptions ??= []).Add(exception);
        }

        Volatile.Write(ref _declining, true);
        DeclinedNeedsLock();
        if (drop)
        {
            DropNeedsLock();
        }
    }

    /// <inheritdoc/>
    public virtual void Show(BlockView view)
    {
        view.Options = Options;
        view.IsDeclining = _declining;
        view.PostponedCount = _postponed?.Count ?? 0;
    }

    public void StopListeningToToken() => StopListening();

    /// <summary>Checks again whether the input side has ended.</summary>
    public void Recheck()
    {
        LockOwner? key = StateLock.Enter();
        Leave(key, null);
    }

    /// <summary>Stores a message. Throws nothing.</summary>
    /// <returns>The work to do when no lock is held; <see cref="NoMemory"/> if it could not be stored.</returns>
    protected abstract IAfterLock? StoreNeedsLock(T item);

    /// <summary>Discards what is stored.</summary>
    protected abstract void DropNeedsLock();

    /// <summary>Whether nothing is stored or being processed.</summary>
    protected abstract bool IsDrainedNeedsLock();

    /// <summary>The input side has ended: everything is processed, and postponed messages have been declined.</summary>
    protected abstract void Finished(List<Exception>? exceptions);

    /// <summary>The block's token was cancelled.</summary>
    protected virtual void Cancelled() => Complete(null, drop: true);

    /// <summary>The whole block is complete.</summary>
    protected void StopListening() => _registration?.Value.Unregister();

    /// <summary>The block has begun to decline.</summary>
    protected virtual void DeclinedNeedsLock()
    {
    }

    /// <summary>A message was postponed.</summary>
    protected virtual IAfterLock? OnPostponedNeedsLock() => null;

    /// <summary>Room became free, and no postponed message is waiting for it.</summary>
    protected virtual IAfterLock? OnRoomNeedsLock() => null;

    protected void AddUsedNeedsLock(int count)
    {
        if (IsBounded)
        {
            _used += count;
        }
    }

    protected bool TryFinishNeedsLock()
    {
        if (!_declining || _finishing || _transfers > 0 || _pulling || !IsDrainedNeedsLock())
        {
            return false;
        }

        return _finishing = true;
    }

    protected void FinishIf(bool finish)
    {
        if (!finish)
        {
            return;
        }

        if (EndReachesOthers || _postponed is { Count: > 0 })
        {
            // In its own work item, because other blocks are told, and the caller may hold locks of user code.
            ThreadPool.UnsafeQueueUserWorkItem(
                static target => Unattended.Run(target, static target => target.Finish(), static (target, error) => target.FinishFailed(error)),
                this,
                preferLocal: false);
        }
        else
        {
            Finish();
        }
    }

    /// <summary>Stores and counts a message.</summary>
    /// <returns>The work to do when no lock is held; <see cref="NoMemory"/> if it was not stored.</returns>
    protected IAfterLock? TakeNeedsLock(T item)
    {
        IAfterLock? after = StoreNeedsLock(item);
        if (ReferenceEquals(after, NoMemory.Instance))
        {
            if (_isLimited && ReleaseClaimNeedsLock() is { } work)
            {
                ThreadPool.UnsafeQueueUserWorkItem(
                    static work => Unattended.Run(work, static work => work.AfterLock()), work, preferLocal: false);
            }
        }
        else if (IsBounded)
        {
            _used++;
        }

        return after;
    }

    /// <summary>Leaves the lock, and then does the work that had to wait for this.</summary>
    protected void Leave(LockOwner? key, IAfterLock? after)
    {
        bool finish = _declining && TryFinishNeedsLock();
        StateLock.Exit(key);
        after?.AfterLock();
        FinishIf(finish);
    }

    /// <summary>Claims one of the messages that the block takes in its life.</summary>
    /// <returns>Whether there was one left.</returns>
    protected virtual bool ClaimNeedsLock() => true;

    /// <summary>A claimed message could not be consumed.</summary>
    protected virtual IAfterLock? ReleaseClaimNeedsLock() => null;

    /// <summary>Whether a message may be taken now. If so, it is claimed and must be taken.</summary>
    private bool HasRoomNeedsLock() =>
        TakesOffersNeedsLock
        && (_capacity == BlockOptions.Unbounded || (HasCapacityNeedsLock() && !_pulling && _transfers == 0 && (_postponed is null || _postponed.Count == 0)))
        && (!_isLimited || ClaimNeedsLock());

    /// <summary>The end could not begin: nobody else begins it, so it does here.</summary>
    private void FinishFailed(Exception error)
    {
        (_exceptions ??= []).Add(error);
        Finish();
    }

    private void Finish()
    {
        try
        {
            DeclineAllPostponed();
        }
        catch (Exception e)
        {
            // The block ends nevertheless, and with that.
            (_exceptions ??= []).Add(e);
        }

        Finished(_exceptions);
    }

    [Conditional("DEBUG")]
    protected void AssertInvariants()
    {
        Debug.Assert(_transfers >= 0, "Transfers begin before they end.");
        Debug.Assert(_used >= 0 && (!_finishing || _declining), "Counts and states fit.");
        Debug.Assert(!_finishing || (_transfers == 0 && !_pulling), "A finished input transfers nothing.");
    }

    // <content>
    // Room that a worker frees without the lock: it counts, and then checks whether a sender waits. A sender that waits first announces this, makes all processors
    // fence, and then looks at the count. One of the two sees the other.
    // </content>

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

    // <content>Waiting for room, and using room that becomes free.</content>

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

    // <content>What is said to sources: consuming what they offered, and letting go what is not wanted.</content>

    /// <summary>Consumes and stores a message whose place is taken already; gives the place back if that fails.</summary>
    /// <param name="messageHeader">Which message.</param>
    /// <param name="source">Its source.</param>
    /// <param name="offered">Whether this is from within the offer, and counted as a transfer.</param>
    private bool TryConsume(DataflowMessageHeader messageHeader, ISourceBlock<T> source, bool offered)
    {
        T? value;
        bool consumed;
        try
        {
            value = source.ConsumeMessage(messageHeader, Self, out consumed);
        }
        catch
        {
            // A source that throws has given no message.
            Consumed(default, consumed: false, offered);
            throw;
        }

        Consumed(value, consumed, offered);
        return consumed;
    }

    private void Consumed(T? value, bool consumed, bool offered)
    {
        LockOwner? key = StateLock.Enter();
        _transfers -= offered ? 1 : 0;
        IAfterLock? after = consumed ? StoreConsumedNeedsLock(value!) : NotConsumedNeedsLock();
        IAfterLock? other = ReferenceEquals(after, NoMemory.Instance) ? NotConsumedNeedsLock() : null;
        bool pull = offered && StartPullNeedsLock();
        bool finish = _declining && TryFinishNeedsLock();
        StateLock.Exit(key);
        other?.AfterLock();
        try
        {
            after?.AfterLock();
        }
        finally
        {
            FinishIf(finish);
            if (pull)
            {
                QueuePull();
            }
        }
    }

    private IAfterLock? NotConsumedNeedsLock()
    {
        AddUsedNeedsLock(-1);
        return _isLimited ? ReleaseClaimNeedsLock() : null;
    }

    /// <summary>Stores what was consumed, unless the block has failed or was cancelled meanwhile.</summary>
    private IAfterLock? StoreConsumedNeedsLock(T value) =>
        _declining && (_exceptions is not null || Options.Token.IsCancellationRequested) ? null : StoreNeedsLock(value);

    private void DeclineAllPostponed()
    {
        PostponedNode<T>? node;
        do
        {
            LockOwner? key = StateLock.Enter();
            node = _postponed?.RemoveFirst();
            StateLock.Exit(key);
            DeclinePostponed(node);
        }
        while (node is not null);
    }

    /// <summary>Tells a postponed source that its message is not wanted: a reservation that is released makes it look elsewhere.</summary>
    protected void DeclinePostponed(PostponedNode<T>? node)
    {
        if (node is SendWaiter<T> waiter)
        {
            waiter.Finish(accepted: false);
        }
        else if (node is PostponedOffer<T> offer)
        {
            try
            {
                if (offer.Source.ReserveMessage(offer.Header, Self))
                {
                    offer.Source.ReleaseReservation(offer.Header, Self);
                }
            }
            catch (Exception e)
            {
                LockOwner? key = StateLock.Enter();
                try
                {
                    (_exceptions ??= []).Add(e);
                }
                finally
                {
                    StateLock.Exit(key);
                }
            }
        }
    }
}

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
