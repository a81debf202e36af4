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
/// The input side of a block: what it accepts, postpones and declines, and when its input ends. Derived classes decide what becomes of a message.
/// </summary>
/// <remarks>
/// <para>
/// <b>One lock</b>, the <i>input lock</i>. It comes inside the offer lock of a source, and outside the lock of a join and the locks of this block's output: see
/// the order at the top of <see cref="SourceCore{T}"/>. So a source is never called under it. A name with NeedsLock says that the caller holds it, and that the
/// member calls nobody: what has to be done afterwards is returned as <see cref="IAfterLock"/>, and <see cref="ExitAndRun"/> does it.
/// </para>
/// <para>
/// <b>Accepting.</b> A message is accepted if the block does not decline and there is room: <c>_used</c> is below the capacity, and nobody waits for room or is
/// just being served, so that nobody is overtaken. Accepting stores and counts it in one step under the lock. A message that has to be consumed is counted
/// first (<c>_used</c>, and <c>_transfers</c> while its source is called without the lock); if the source does not give it, the count is taken back. Where the
/// block accepts a limited number in its life (MaxNumberOfGroups), a message is also claimed before it is accepted or consumed, for the same reason.
/// </para>
/// <para>
/// <b>Waiting for room.</b> Offers that find none are postponed, and senders wait, in one list, first come first served. Who makes room pulls: it takes the
/// waiting messages while there is room. One thread pulls at a time; it owns <c>_pulling</c>, and everybody else leaves the room to it. A sender's message can
/// be taken by any thread. A source is called only by a thread that may call sources: a worker of the block, which holds no lock (<c>onWorker</c>). Any other
/// thread queues a work item that pulls.
/// </para>
/// <para>
/// <b>Room that a worker frees without the lock</b> (<see cref="FreedCount"/>). The only worker of a block counts each message, makes a light fence, and then
/// looks whether somebody waits. Who begins to wait says so first, makes all processors fence, and then looks at the count. So one of the two sees the other.
/// </para>
/// <para>
/// <b>The end.</b> <c>_declining</c> is set first: the block accepts no more. The input ends when the derived class has processed what it has
/// (<see cref="IsDrainedNeedsLock"/>), no message is being consumed and nobody pulls. Who sees first that this is so sets <c>_finishing</c> and must finish
/// (<see cref="FinishIf"/>), once no lock is held: what is still postponed is declined, and the derived class completes its output (<see cref="Finished"/>).
/// </para>
/// </remarks>
internal abstract class TargetCore<T> : DirectTarget<T>, ISendTarget<T>, IUnattended, IViewable
{
    // Immutable.
    private readonly int _capacity;

    /// <summary>Whether the block accepts a limited number of messages in its life. If so, each is claimed before it is accepted or consumed.</summary>
    private readonly bool _isLimited;

    /// <summary>The count of room that the only worker frees without the lock. Null if room is freed under the lock.</summary>
    private readonly FreedCount? _freedByWorker;

    // Under the input lock.
    protected BiasedLock StateLock;
    private PostponedList<T>? _postponed;

    /// <summary>How much of the capacity is in use. Unbounded blocks do not count it.</summary>
    private int _used;

    /// <summary>How many messages are being consumed from inside an offer at this moment.</summary>
    private int _transfers;

    /// <summary>A thread takes the messages that wait. No other thread may, and no message may overtake them.</summary>
    private bool _pulling;

    /// <summary>No more messages are accepted. Read without the lock too.</summary>
    private bool _declining;

    /// <summary>The input ends, and somebody has to finish it. Read without the lock when the token's registration is stored.</summary>
    private bool _finishing;

    /// <summary>Why the block fails. From <c>_finishing</c> on, it belongs to the thread that finishes.</summary>
    private List<Exception>? _exceptions;

    // Atomic.

    /// <summary>A sender's waiter that is done, for the next send that waits. It is rented by an exchange, and returned by a plain write.</summary>
    private SendWaiter<T>? _pooledSender;

    /// <summary>Only if the block has a token. Stored once, after the callback may already have ended the block: see <see cref="ListenToToken"/>.</summary>
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

    public sealed override bool IsBounded => _capacity != BlockOptions.Unbounded;

    // What a derived class decides.

    /// <summary>The block itself, as sources know it.</summary>
    protected abstract ITargetBlock<T> Self { get; }

    /// <summary>Whether postponed messages are declined as soon as the block declines, rather than once it has processed what it has.</summary>
    protected virtual bool DeclinesPostponedEarly => false;

    /// <summary>Whether <see cref="Finished"/> calls blocks other than this one.</summary>
    protected virtual bool EndReachesOthers => false;

    /// <summary>Whether only a pull accepts messages of waiting senders now, because it sees when nothing more can be accepted.</summary>
    protected virtual bool OnlyPullAcceptsNeedsLock => false;

    /// <summary>Whether messages are accepted when they are offered. If not, they are postponed, and the derived class fetches them.</summary>
    protected virtual bool AcceptsOffersNeedsLock => true;

    /// <summary>Stores a message. Throws nothing.</summary>
    /// <returns>The work to do once no lock is held; <see cref="NoMemory"/> if there was no memory to store it.</returns>
    protected abstract IAfterLock? StoreNeedsLock(T item);

    /// <summary>Discards what is stored.</summary>
    protected abstract void DiscardNeedsLock();

    /// <summary>Whether nothing is stored or being processed.</summary>
    protected abstract bool IsDrainedNeedsLock();

    /// <summary>Claims one of the messages that the block accepts in its life.</summary>
    /// <returns>Whether there was one left.</returns>
    protected virtual bool ClaimNeedsLock() => true;

    /// <summary>A claimed message could not be consumed: another one may be.</summary>
    protected virtual IAfterLock? ReleaseClaimNeedsLock() => null;

    /// <summary>The block has begun to decline.</summary>
    protected virtual void DeclinedNeedsLock()
    {
    }

    /// <summary>A message was postponed.</summary>
    protected virtual IAfterLock? OnPostponedNeedsLock() => null;

    /// <summary>Room became free, and nobody waits for it.</summary>
    protected virtual IAfterLock? OnRoomNeedsLock() => null;

    /// <summary>The input has ended: everything is processed, and what was postponed is declined. Called under no lock.</summary>
    protected abstract void Finished(List<Exception>? exceptions);

    /// <summary>The block's token was cancelled.</summary>
    protected virtual void Cancelled() => Complete(null, discard: true);

    // What a derived class sees.

    protected bool IsDecliningNeedsLock => _declining;

    protected PostponedList<T>? PostponedNeedsLock => _postponed;

    protected int UsedNeedsLock => _used;

    /// <summary>Whether a thread pulls.</summary>
    protected bool IsPullingNeedsLock => _pulling;

    protected bool WorkerFrees => _freedByWorker is not null;

    // Messages come.

    public virtual bool Post(T item)
    {
        LockOwner? key = StateLock.Enter();
        AssertInvariants();
        if (_declining || !HasRoomNeedsLock())
        {
            StateLock.Exit(key);
            return false;
        }

        ExitAndRun(key, AcceptNeedsLock(item));
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

        after = AcceptNeedsLock(item);
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
                // The source's locks come before this lock, so this one is not held meanwhile. The room is taken already, and the end waits.
                AddUsedNeedsLock(1);
                _transfers++;
                StateLock.Exit(key);
                return TryConsume(messageHeader, source!, offered: true) ? DataflowMessageStatus.Accepted : DataflowMessageStatus.NotAvailable;
            }

            ExitAndRun(key, AcceptNeedsLock(messageValue));
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

    /// <summary>Stores and counts a message.</summary>
    /// <returns>The work to do once no lock is held; <see cref="NoMemory"/> if it was not stored.</returns>
    protected IAfterLock? AcceptNeedsLock(T item)
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

    /// <summary>Whether a message may be accepted now. If so, it is claimed, and must be accepted.</summary>
    private bool HasRoomNeedsLock() =>
        AcceptsOffersNeedsLock
        && (_capacity == BlockOptions.Unbounded || (HasCapacityNeedsLock() && !_pulling && _transfers == 0 && (_postponed is null || _postponed.Count == 0)))
        && (!_isLimited || ClaimNeedsLock());

    private bool HasCapacityNeedsLock() => _used < _capacity || (_freedByWorker is { } count && ReclaimNeedsLock(count));

    protected void AddUsedNeedsLock(int count)
    {
        if (IsBounded)
        {
            _used += count;
        }
    }

    /// <summary>Exits the lock, does what had to wait for that, and finishes the input if this was the last thing it waited for.</summary>
    protected void ExitAndRun(LockOwner? key, IAfterLock? after)
    {
        bool finish = _declining && TryFinishNeedsLock();
        StateLock.Exit(key);
        after?.AfterLock();
        FinishIf(finish);
    }

    // Messages are consumed from their sources.

    /// <summary>Consumes and stores a message whose room is taken already. If there is no message, the room is given back.</summary>
    /// <param name="messageHeader">Which message.</param>
    /// <param name="source">Its source.</param>
    /// <param name="offered">Whether this is inside the offer, and counted as a transfer.</param>
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

    // Senders wait for room.

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

        SendWaiter<T> waiter = new(this, isPooled: false);
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

        SendWaiter<T> waiter = Interlocked.Exchange(ref _pooledSender, null) ?? new SendWaiter<T>(this, isPooled: true);
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
            ExitAndRun(key, AcceptNeedsLock(waiter.Value!));
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
                Pull(onWorker: false);
            }
        }
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

    public void Return(SendWaiter<T> waiter) => Volatile.Write(ref _pooledSender, waiter);

    // Room becomes free.

    /// <summary>Room became free. Called under no lock.</summary>
    /// <param name="count">How much.</param>
    /// <param name="onWorker">Whether this thread may call sources, because it is a worker of the block and holds no lock.</param>
    public void Free(int count, bool onWorker)
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
            // A derived class may use the room for its last batch, with which the block ends.
            ExitAndRun(key, _pulling ? null : OnRoomNeedsLock());
            return;
        }

        SendWaiter<T>? taken = null;
        IAfterLock? after = null;
        if (!_pulling && !_isLimited && MayPullNeedsLock() && _postponed.First is SendWaiter<T> first && !OnlyPullAcceptsNeedsLock)
        {
            // The message of the sender that waits first, in this hold of the lock.
            after = AcceptNeedsLock(first.Value!);
            if (ReferenceEquals(after, NoMemory.Instance))
            {
                // The block fails. The thread that made the room has done its part, so it gets no exception.
                _pulling = true;
                StateLock.Exit(key);
                EndPull(NoMemory.Exception());
                return;
            }

            taken = first;
            _postponed.Remove(first);
        }

        // The work that follows a store may make room again. This call then pulls for that too, so that calls do not nest.
        bool pull = taken is not null && after is not null && !ReferenceEquals(after, this) ? _pulling = true : StartPullNeedsLock();
        if (!_pulling && taken is null)
        {
            after = OnRoomNeedsLock();
        }

        ExitAndRun(key, after);
        taken?.AfterLock();
        if (pull)
        {
            Pull(onWorker);
        }
    }

    /// <summary>One more message is done. Called by the only worker of a block that frees room without the lock.</summary>
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
            Pull(onWorker: true);
        }
    }

    /// <summary>Somebody has begun to wait for room.</summary>
    /// <returns>Whether there is room after all. If so, the caller has to pull.</returns>
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

    private bool ReclaimNeedsLock(FreedCount count)
    {
        long freed = Volatile.Read(ref count.Freed.Value);
        _used -= (int)(freed - count.Reclaimed);
        count.Reclaimed = freed;
        return _used < _capacity;
    }

    // Pulling: the messages that wait are taken while there is room.

    /// <summary>Pulls, if something waits that may be accepted now.</summary>
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

    private bool MayPullNeedsLock() =>
        !_declining && _postponed is { Count: > 0 } && HasCapacityNeedsLock() && AcceptsOffersNeedsLock;

    /// <summary>Takes what waits while there is room. The caller owns <c>_pulling</c>, which this gives up.</summary>
    /// <param name="onWorker">Whether this thread may call sources. If not, a work item takes over at the first postponed offer.</param>
    protected void Pull(bool onWorker)
    {
        while (true)
        {
            LockOwner? key = StateLock.Enter();
            AssertInvariants();
            PostponedNode<T>? node = MayPullNeedsLock() ? _postponed!.First : null;
            if (_isLimited && node is not null && (onWorker || node is SendWaiter<T>) && !ClaimNeedsLock())
            {
                node = null;
            }

            if (node is null)
            {
                IAfterLock? room = OnRoomNeedsLock();
                _pulling = false;
                ExitAndRun(key, room);
                return;
            }

            if (node is PostponedOffer<T> && !onWorker)
            {
                StateLock.Exit(key);
                QueuePull();
                return;
            }

            if (node is SendWaiter<T> waiter)
            {
                IAfterLock? after = AcceptNeedsLock(waiter.Value!);
                if (ReferenceEquals(after, NoMemory.Instance))
                {
                    StateLock.Exit(key);
                    EndPull(NoMemory.Exception());
                    return;
                }

                _postponed!.Remove(node);
                ExitAndRun(key, after);
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

    /// <summary>Lets a work item of the block pull. The caller owns <c>_pulling</c>, which goes to the work item.</summary>
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

    // If it failed and did not end the pull, no other one would begin, and the block would never end.
    private void PullUnattended() =>
        Unattended.Run(this, static target => target.Pull(onWorker: true), static (target, error) => target.EndPull(error));

    /// <summary>A source or the scheduler threw: the block fails.</summary>
    private void EndPull(Exception exception)
    {
        LockOwner? key = StateLock.Enter();
        try
        {
            _pulling = false;
            CompleteNeedsLock(exception, discard: true, always: true);
        }
        finally
        {
            ExitAndRun(key, null);
        }
    }

    // The end.

    /// <summary>Registers with the token. A block's constructor does this last.</summary>
    public void ListenToToken()
    {
        if (Options.Token.CanBeCanceled)
        {
            _registration = new(Options.Token.UnsafeRegister(
                static target => Unattended.Run((TargetCore<T>)target!, static target => target.Cancelled()), this));

            // The token may have ended the block before the registration was stored. Then StopListening found none, so it is removed here.
            if (Volatile.Read(ref _finishing))
            {
                _registration?.Value.Unregister();
            }
        }
    }

    /// <summary>No more messages are accepted.</summary>
    /// <param name="exception">Why the block fails, or null.</param>
    /// <param name="discard">Whether to discard messages that were accepted and are not being processed yet.</param>
    /// <param name="always">Whether the exception counts even if the block was already completing, because it came from inside.</param>
    public void Complete(Exception? exception, bool discard, bool always = false)
    {
        bool finish;
        bool decline;
        LockOwner? key = StateLock.Enter();
        try
        {
            AssertInvariants();
            CompleteNeedsLock(exception, discard, always);
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

    protected void CompleteNeedsLock(Exception? exception, bool discard, bool always)
    {
        if (exception is not null && (!_declining || always))
        {
            (_exceptions ??= []).Add(exception);
        }

        Volatile.Write(ref _declining, true);
        DeclinedNeedsLock();
        if (discard)
        {
            DiscardNeedsLock();
        }
    }

    /// <summary>A work item, a timer or the token's callback failed: the block faults.</summary>
    public virtual void WorkFailed(Exception error) => Complete(error, discard: true, always: true);

    /// <summary>Looks once more whether the input ends.</summary>
    public void Recheck()
    {
        LockOwner? key = StateLock.Enter();
        ExitAndRun(key, null);
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
            // In a work item of its own: it calls other blocks, and the caller may hold locks of the user's code.
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

    /// <summary>The work item that finishes did not begin, and nobody else finishes: so this does, here.</summary>
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
            // The block ends nevertheless, with this exception.
            (_exceptions ??= []).Add(e);
        }

        Finished(_exceptions);
    }

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

    /// <summary>Declines what waits. A source learns of it by a reservation that is released: then it offers its message to others.</summary>
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

    public void StopListeningToToken() => StopListening();

    /// <summary>The whole block is complete.</summary>
    protected void StopListening() => _registration?.Value.Unregister();

    // For debuggers and tests.

    /// <inheritdoc/>
    public virtual void Show(BlockView view)
    {
        view.Options = Options;
        view.IsDeclining = _declining;
        view.PostponedCount = _postponed?.Count ?? 0;
    }

    [Conditional("DEBUG")]
    protected void AssertInvariants()
    {
        Debug.Assert(_transfers >= 0, "Transfers begin before they end.");
        Debug.Assert(_used >= 0 && (!_finishing || _declining), "Counts and states fit.");
        Debug.Assert(!_finishing || (_transfers == 0 && !_pulling), "A finished input transfers nothing.");
    }

    /// <summary>How much room the only worker of a bounded block has freed without the lock, since the block was created.</summary>
    private sealed class FreedCount
    {
        /// <summary>The worker writes it for each message. Any thread reads it.</summary>
        public Padded Freed;

        /// <summary>The part of it that <c>_used</c> no longer counts. Under the input lock.</summary>
        public long Reclaimed;

        /// <summary>Somebody waits for room, so the worker must take the lock. Written under the lock, read by the worker without.</summary>
        public volatile bool IsAwaited;
    }
}
