using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Threading.Tasks.Dataflow;
using Weir.Core;
using Weir.Core.Threads;
using Weir.Dataflow.Debugging;
using Weir.Dataflow.Links;
using Weir.Dataflow.Sync;
using Weir.Dataflow.Waiters;

namespace Weir.Dataflow.Cores;

/// <summary>
/// The output side of a block: a queue whose head is offered to the links in their order, and can be received, reserved and consumed.
/// </summary>
/// <remarks>
/// Two locks. The state lock is never held while anything foreign runs. The offer lock (the monitor of this object) is held while targets are offered to,
/// and is re-entrant, because a target may consume from inside the offer and networks may be circular. Order: offer lock, then state lock; a block's input
/// comes before its output.
/// </remarks>
internal sealed partial class SourceCore<T> : ReceiveSource<T>, IOfferSource<T>, IOutputSide, IUnattended, IThreadPoolWorkItem, IAfterLock
{
    private const int OffersPerLock = 16;

    private readonly IOutputHost _host;
    private readonly BlockOptions _options;
    private BiasedLock _stateLock;
    private MessageQueue<T> _queue;
    private LinkList<T> _links;
    private BlockCompletion _completion;
    private ITargetBlock<T>? _reservedFor;

    /// <summary>The only link's target, while messages can be put there without offering them.</summary>
    private DirectTarget<T>? _direct;
    private ExecutionContext? _context;
    private List<Exception>? _exceptions;

    /// <summary>The number of the message at the head. It grows by one with each message that leaves.</summary>
    private long _headId = 1;

    /// <summary>All links have refused the head: it is offered again when something changes.</summary>
    private bool _refused;

    /// <summary>The holder of the monitor is offering the head. No other thread may take it.</summary>
    private bool _offering;

    /// <summary>Targets were linked while the head was being offered.</summary>
    private bool _newcomers;

    /// <summary>A work item that offers is queued or running.</summary>
    private bool _offerQueued;
    private bool _completing;
    private bool _finishing;

    /// <summary>The identity of this source in places where it works only once at a time.</summary>
    private readonly int _id = BiasedLock.NewId();

    public SourceCore(ISourceBlock<T> owner, IOutputHost host, BlockOptions options)
    {
        Owner = owner;
        _host = host;
        _options = options;
    }

    /// <summary>The block itself, as targets know it.</summary>
    public ISourceBlock<T> Owner { get; }

    IDataflowBlock IOutputSide.Block => Owner;

    public override Task Completion => _completion.Task;

    public override bool IsCompleted => _completion.IsCompleted;

    public int Count
    {
        get
        {
            LockOwner? key = _stateLock.Enter();
            int count = _queue.Count;
            _stateLock.Exit(key);
            return count;
        }
    }

    private bool IsCancelledOrFaulted => _options.Token.IsCancellationRequested || (_exceptions is not null && _completing);

    private bool MayOffer => IsHeadFree && !IsCancelledOrFaulted;

    private bool IsHeadFree => _queue.Count > 0 && _reservedFor is null && !_offering && !_finishing;

    /// <summary>Adds an output. Callers keep their own order.</summary>
    /// <returns>The work to do after all locks are left.</returns>
    /// <remarks>The caller may hold the block's lock, so the block cannot be told from here that an output left.</remarks>
    public IAfterLock? Add(T item) => Add(item, ThreadId.Current);

    /// <summary>Adds an output, for a block that never adds two at the same time, whatever the thread.</summary>
    public IAfterLock? AddInTurn(T item) => Add(item, _id);

    /// <summary>Adds outputs one right after the other.</summary>
    /// <param name="items">The outputs.</param>
    /// <param name="after">The work to do after all locks are left.</param>
    public void Add(ReadOnlySpan<T> items, ref AfterLocks after) => Add(items, ThreadId.Current, ref after);

    /// <summary>Like the other overload, for a block that never adds outputs twice at the same time, whatever the thread.</summary>
    public void AddInTurn(ReadOnlySpan<T> items, ref AfterLocks after) => Add(items, _id, ref after);

    private IAfterLock? Add(T item, int id)
    {
        LockOwner? key = _stateLock.Enter(id);
        AssertInvariants();
        IAfterLock? after = null;
        if (TryAddDirectNeedsLock(item, id, out after))
        {
            _stateLock.Exit(key);
            if (_options.IsBounded)
            {
                _host.OutputLeft(CountOf(item));
            }

            return after;
        }

        if (!_finishing)
        {
            after = AddNeedsLock(item);
        }

        _stateLock.Exit(key);
        return after;
    }

    private void Add(ReadOnlySpan<T> items, int id, ref AfterLocks after)
    {
        Debug.Assert(!_options.IsBounded || id != _id, "A bounded block would have to be told that an output has left.");
        LockOwner? key = _stateLock.Enter(id);
        try
        {
            AssertInvariants();
            foreach (ref readonly T item in items)
            {
                after.Reserve();
                if (!TryAddDirectNeedsLock(item, id, out IAfterLock? work))
                {
                    work = _finishing ? null : AddNeedsLock(item);
                }

                after.Add(work);
            }
        }
        finally
        {
            _stateLock.Exit(key);
        }
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private bool TryAddDirectNeedsLock(T item, int id, out IAfterLock? after)
    {
        if (_direct is { } direct && _queue.Count == 0 && (id == _id || !_options.IsBounded) && direct.TryAcceptDirect(item, _id, out after))
        {
            _headId++;
            return true;
        }

        after = null;
        return false;
    }

    public void AddException(Exception exception)
    {
        LockOwner? key = _stateLock.Enter();
        try
        {
            (_exceptions ??= []).Add(exception);
            UpdateDirectNeedsLock();
        }
        finally
        {
            _stateLock.Exit(key);
        }
    }

    /// <summary>Ends the outputs: the block completes when the last one has left, or at once after a fault or cancellation.</summary>
    public void Complete(IEnumerable<Exception>? exceptions = null)
    {
        LockOwner? key = _stateLock.Enter();
        try
        {
            _completing = true;
            if (exceptions is not null && !_finishing)
            {
                (_exceptions ??= []).AddRange(exceptions);
                UpdateDirectNeedsLock();
            }
        }
        finally
        {
            _stateLock.Exit(key);
        }

        // As with Microsoft's blocks, the end is detected a moment later; until then, a new link is offered the head.
        ThreadPool.UnsafeQueueUserWorkItem(static source => Unattended.Run(source, static source => source.FinishIfDone()), this, preferLocal: false);
    }

    /// <summary>Checks again whether the block is complete, after its token was cancelled.</summary>
    public void Reconsider()
    {
        LockOwner? key = _stateLock.Enter();
        UpdateDirectNeedsLock();
        bool finish = TryFinishNeedsLock();
        _stateLock.Exit(key);
        FinishIf(finish);
    }

    public void AfterLock()
    {
        _context = ExecutionContext.Capture();
        try
        {
            Work.Queue(this, _options.Scheduler);
        }
        catch (Exception e)
        {
            OfferEnded(e);
        }
    }

    /// <inheritdoc/>
    public override void Show(BlockView view)
    {
        view.Output = _queue.ToArray();
        view.LinkedTargets = _links.ToArray();
        view.ReservedFor = _reservedFor;
        view.IsCompleted = _completion.IsCompleted;
    }

    private IAfterLock? AddNeedsLock(T item)
    {
        if (_links.First is null)
        {
            return _queue.TryEnqueue(item) ? null : NoMemory.Instance;
        }

        ReceiveWaiter<T>? after = null;
        if (_links.Targets == 0 && _queue.Count == 0 && _reservedFor is null)
        {
            while (_links.First is ReceiveWaiter<T> waiter)
            {
                // A receiver is told of a message only when the message is certain to be there.
                if (!waiter.TakesMessage && !_queue.TryReserve())
                {
                    return NoMemory.Instance;
                }

                RemoveNeedsLock(waiter);
                waiter.Next = after;
                after = waiter;
                if (waiter.TakesMessage)
                {
                    waiter.Give(item);
                    _headId++;
                    return after;
                }
            }
        }

        if (!_queue.TryEnqueue(item))
        {
            return NoMemory.Instance;
        }

        return after is not null ? after : QueueOfferNeedsLock() ? this : null;
    }

    /// <summary>Claims the right to queue a work item that offers, if one is needed.</summary>
    private bool QueueOfferNeedsLock()
    {
        if (_offerQueued || _refused || _links.First is null || !MayOffer)
        {
            return false;
        }

        return _offerQueued = true;
    }

    /// <summary>The head left the queue, whoever got it.</summary>
    private T TakeHeadNeedsLock()
    {
        T item = _queue.Dequeue();
        Volatile.Write(ref _headId, _headId + 1);
        _reservedFor = null;
        _refused = false;
        return item;
    }

    private void AddNeedsLock(LinkNode<T> node, bool append)
    {
        _links.Add(node, append);
        UpdateDirectNeedsLock();
    }

    private bool RemoveNeedsLock(LinkNode<T> node)
    {
        bool removed = _links.Remove(node);
        UpdateDirectNeedsLock();
        return removed;
    }

    private void UpdateDirectNeedsLock() =>
        _direct = _links.First is TargetLink<T> { Next: null, Direct: { } direct } && _exceptions is null && !_options.Token.IsCancellationRequested
            ? direct
            : null;

    private bool TryFinishNeedsLock()
    {
        if (!_completing || _finishing || _offerQueued || _offering || _reservedFor is not null || (_queue.Count > 0 && !IsCancelledOrFaulted))
        {
            return false;
        }

        return _finishing = true;
    }

    private void FinishIf(bool finish)
    {
        if (finish)
        {
            // In its own work item: it completes targets, which complete theirs, and the caller may hold locks of user code.
            ThreadPool.UnsafeQueueUserWorkItem(
                static source => Unattended.Run(source, static source => source.Finish(), static (source, error) => source.FinishFailed(error)),
                this,
                preferLocal: false);
        }
    }

    private void FinishIfDone()
    {
        LockOwner? key = _stateLock.Enter();
        bool finish = TryFinishNeedsLock();
        _stateLock.Exit(key);
        if (finish)
        {
            Finish();
        }
    }

    private void Finish()
    {
        LinkNode<T>? first;
        List<Exception>? exceptions;
        lock (this)
        {
            LockOwner? key = _stateLock.Enter();
            first = _links.Clear();
            UpdateDirectNeedsLock();
            int discarded = _queue.Count;
            _queue.Clear();
            Volatile.Write(ref _discarded, discarded);
            exceptions = _exceptions;
            _stateLock.Exit(key);
        }

        _host.OutputCompleted();
        _completion.Complete(exceptions, _options.Token);
        while (first is not null)
        {
            LinkNode<T>? next = first.Next;
            first.Next = null;
            if (first is ReceiveWaiter<T> waiter)
            {
                waiter.SourceEnded();
            }
            else if (first is TargetLink<T> { PropagatesCompletion: true } link)
            {
                Protocol.Propagate(_completion.Task, link.Target);
            }

            first = next;
        }
    }

    /// <summary>How many messages of the block's capacity an output stands for.</summary>
    private int CountOf(T item) => _host.CountsItems ? ((Array)(object)item!).Length : 1;

    private void Left(T item)
    {
        if (_options.IsBounded)
        {
            _host.OutputLeft(CountOf(item));
        }
    }

    [Conditional("DEBUG")]
    private void AssertInvariants()
    {
        Debug.Assert(_headId >= 1, "Message numbers start at 1.");
        Debug.Assert(_reservedFor is null || _queue.Count > 0 || _finishing, "Only a message that is there can be reserved.");
        Debug.Assert(!_finishing || _completing, "Only a block without further outputs ends.");
    }
}
