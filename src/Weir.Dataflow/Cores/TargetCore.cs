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
}
