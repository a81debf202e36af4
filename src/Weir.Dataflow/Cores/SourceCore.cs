using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;
using System.Threading.Tasks.Dataflow;
using Weir.Core;
using Weir.Core.Threads;
using Weir.Dataflow.Debugging;
using Weir.Dataflow.Links;
using Weir.Dataflow.Metering;
using Weir.Dataflow.Sync;
using Weir.Dataflow.Waiters;

namespace Weir.Dataflow.Cores;

/// <summary>
/// The output side of a block: a queue of outputs. Its head is offered to the links in their order, and can be received, reserved and consumed.
/// </summary>
/// <remarks>
/// <para>
/// <b>Two locks.</b> The <i>state lock</i> guards the fields. It is held for some instructions at a time, and nothing of the user's runs under it. The
/// <i>offer lock</i> (the monitor of this object) is held while targets are offered to, so one thread offers at a time. It is re-entrant, because a target may
/// consume from inside the offer and networks may be circular. Who consumes, reserves or releases takes it too, and so does who receives while there are links.
/// </para>
/// <para>
/// <b>Order of locks</b>, the outer one first: the offer lock of a source; the input lock of a target (<see cref="TargetCore{T}"/>); the lock of its join; the
/// state lock of its output; the input lock of the target that this output puts messages into directly (<c>_direct</c>), which ends there. No thread takes an
/// offer lock while it holds one of the others.
/// </para>
/// <para>
/// <b>When the head is offered.</b> Whoever makes a head that nobody has been offered sets <c>_offerQueued</c> under the state lock and queues this object as a
/// work item once no lock is held. The work item offers the head to one link after the other until a target accepts it, reserves it or has consumed it. If all
/// have refused, <c>_refused</c> is set: the head is offered again when a reservation of it is released, and only then; a new link is offered it by itself.
/// While targets are called, the state lock is not held, and <c>_offering</c> keeps others from taking the head. A receiver that waits stands among the links
/// and is served at its position.
/// </para>
/// <para>
/// <b>On the thread that consumes.</b> If all links lead to blocks of this library that only note what they are offered and fetch it later (joins and batches
/// that are not greedy), whoever consumes the head offers the next one itself, under the same hold of the offer lock.
/// </para>
/// <para>
/// <b>Directly.</b> If the only link leads to a block of this library that merely stores its messages, and the queue is empty, an output goes into the target's
/// queue at once, under the state lock, and is not offered.
/// </para>
/// <para>
/// <b>Reserving.</b> While <c>_reservedFor</c> is set, the head is that target's: it is not offered, nobody else takes it, and the block does not end.
/// </para>
/// <para>
/// <b>The end.</b> <see cref="Complete"/> says that no more outputs come. The block ends when the last output has left, or at once after a fault or a
/// cancellation, but never while the head is offered or reserved. Who sees first that this is so sets <c>_finishing</c>, and must finish: the links are cleared
/// under both locks, then the block completes, and then the targets do.
/// </para>
/// <para>
/// <b>After the locks.</b> A locked region calls nobody. It returns what has to be done once no lock is held: to queue the offer, to complete receivers, to
/// tell the input that an output has left (<see cref="OnLeft"/>), to finish (<see cref="FinishIf"/>). A name with NeedsLock says that the caller holds the
/// state lock.
/// </para>
/// </remarks>
internal sealed class SourceCore<T> : ReceiveSource<T>, IOfferSource<T>, IOutputSide, IUnattended, IThreadPoolWorkItem, IAfterLock
{
    private const int OffersPerLock = 16;

    // Immutable.
    private readonly IOutputHost _host;
    private readonly BlockOptions _options;

    /// <summary>The id under which this source enters locks that only one thread at a time enters for it: see <see cref="BiasedLock.NewId"/>.</summary>
    private readonly int _id = BiasedLock.NewId();

    // Under the state lock.
    private BiasedLock _stateLock;
    private MessageQueue<T> _queue;
    private LinkList<T> _links;
    private List<Exception>? _exceptions;

    /// <summary>The input side of the only link's target, while messages can be put there without offering them.</summary>
    private DirectTarget<T>? _direct;

    /// <summary>The number of the message at the head. It grows by one with each message that leaves. Listeners read it without the lock.</summary>
    private long _headId = 1;

    /// <summary>The target that has reserved the head. Changed under the offer lock too.</summary>
    private ITargetBlock<T>? _reservedFor;

    /// <summary>The holder of the offer lock is offering the head. No other thread may take it.</summary>
    private bool _offering;

    /// <summary>All links have refused the head.</summary>
    private bool _refused;

    /// <summary>Targets were linked while the head was being offered.</summary>
    private bool _hasNewLinks;

    /// <summary>A work item that offers is queued or running.</summary>
    private bool _offerQueued;

    /// <summary>No more outputs come.</summary>
    private bool _completing;

    /// <summary>The block ends: nothing is stored, reserved or linked any more.</summary>
    private bool _finishing;

    // Of whoever has set _offerQueued, until the work item ends.
    private ExecutionContext? _context;

    // Atomic: set once, by whoever has set _finishing; any thread reads it.
    private BlockCompletion _completion;

    /// <summary>How many messages nobody took before the block ended.</summary>
    private int _discarded;

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

    // Outputs come.

    /// <summary>Adds an output. Callers keep their own order.</summary>
    /// <returns>The work to do once no lock is held.</returns>
    /// <remarks>The caller may hold the input lock, so the input cannot be told from here that an output has left.</remarks>
    public IAfterLock? Add(T item) => Add(item, ThreadId.Current);

    /// <summary>Adds an output. For a block that adds one at a time, on whatever threads.</summary>
    public IAfterLock? AddSerial(T item) => Add(item, _id);

    /// <summary>Adds outputs one right after the other.</summary>
    /// <param name="items">The outputs.</param>
    /// <param name="after">The work to do once no lock is held.</param>
    public void Add(ReadOnlySpan<T> items, ref AfterLocks after) => Add(items, ThreadId.Current, ref after);

    /// <summary>Adds outputs one right after the other. For a block that never does so twice at the same time, on whatever threads.</summary>
    public void AddSerial(ReadOnlySpan<T> items, ref AfterLocks after) => Add(items, _id, ref after);

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
        Debug.Assert(!_options.IsBounded || id != _id, "The input of a bounded block would have to be told that an output has left.");
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
                // A receiver may be told of a message only if it is certain that the message can be stored.
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

    // The head, whoever gets it.

    private bool IsHeadFree => _queue.Count > 0 && _reservedFor is null && !_offering && !_finishing;

    private bool MayOffer => IsHeadFree && !IsCancelledOrFaulted;

    private bool IsCancelledOrFaulted => _options.Token.IsCancellationRequested || (_exceptions is not null && _completing);

    /// <summary>Takes the head out of the queue, whoever gets it.</summary>
    private T TakeHeadNeedsLock()
    {
        T item = _queue.Dequeue();
        Volatile.Write(ref _headId, _headId + 1);
        _reservedFor = null;
        _refused = false;
        return item;
    }

    /// <summary>The head has left. Called under no lock, except that it may be the offer lock.</summary>
    private void OnLeft(T item)
    {
        if (_options.IsBounded)
        {
            _host.OutputLeft(CountOf(item));
        }
    }

    /// <summary>How many messages of the block's capacity an output stands for.</summary>
    private int CountOf(T item) => _host.CountsItems ? ((Array)(object)item!).Length : 1;

    /// <summary>Sets <c>_offerQueued</c>, if the head is to be offered and nobody does so yet.</summary>
    /// <returns>Whether the caller has to queue the work item.</returns>
    private bool QueueOfferNeedsLock()
    {
        if (_offerQueued || _refused || _links.First is null || !MayOffer)
        {
            return false;
        }

        return _offerQueued = true;
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

    /// <summary>Exits the state lock after the head has left or became free: the head that is there now is offered, or the block ends.</summary>
    private void ExitAndOfferNext(LockOwner? key)
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

    /// <summary>Exits the state lock after the head was consumed, and offers the next one on this thread. The caller holds the offer lock.</summary>
    /// <remarks>
    /// For links whose targets only note the offer. The target that fetches on this thread then finds its next message at once: with a work item for each offer
    /// and another for each fetch, a thread would be woken twice for each message.
    /// </remarks>
    private void ExitAndOfferNextHere(LockOwner? key)
    {
        bool offer = QueueOfferNeedsLock();
        bool finish = TryFinishNeedsLock();
        _stateLock.Exit(key);
        FinishIf(finish);
        if (!offer)
        {
            return;
        }

        _context = ExecutionContext.Capture();
        Exception? failure = null;
        try
        {
            OfferHead(null, linking: false);
        }
        catch (Exception e)
        {
            failure = e;
        }

        OfferEnded(failure);
    }

    // Offering the head to the links.

    void IThreadPoolWorkItem.Execute()
    {
        ExecutionContext? context = _context;
        try
        {
            FaultPoint.Pass("SourceCore.Execute", this);
            if (Work.IsIn(context, _options.Scheduler))
            {
                OfferAll();
            }
            else
            {
                ExecutionContext.Run(context!, static source => ((SourceCore<T>)source!).OfferAll(), this);
            }
        }
        catch (Exception e)
        {
            // OfferAll catches everything, so it has not begun.
            try
            {
                OfferEnded(e);
            }
            catch (Exception again)
            {
                Unattended.TryReport(this, again);
            }
        }
    }

    private void OfferAll()
    {
        int budget = _options.MessagesPerTask;
        try
        {
            bool more = true;
            while (more && budget > 0)
            {
                lock (this)
                {
                    for (int i = 0; more && budget > 0 && i < OffersPerLock; i++)
                    {
                        more = OfferHead(null, linking: false);
                        budget--;
                    }
                }
            }
        }
        catch (Exception e)
        {
            OfferEnded(e);
            return;
        }

        OfferEnded(null);
    }

    /// <summary>Offers the head to one link after the other, or to a single one. The caller holds the offer lock.</summary>
    /// <param name="only">The link to offer it to. Null for all.</param>
    /// <param name="linking">Whether a link was just made. A block that is about to end offers its head to a new link too, as long as it has not ended.</param>
    /// <returns>Whether the head has left, so that there may be another one to offer.</returns>
    private bool OfferHead(TargetLink<T>? only, bool linking)
    {
        LockOwner? key = _stateLock.Enter();
        AssertInvariants();
        if (!(linking ? IsHeadFree : MayOffer) || (only is null && _refused))
        {
            _stateLock.Exit(key);
            return false;
        }

        T item = _queue.Peek();
        DataflowMessageHeader header = new(_headId);
        LinkNode<T>? node = only ?? _links.First;
        _offering = true;
        TargetLink<T>? taker = null;
        ReceiveWaiter<T>? after = null;
        bool all = only is null;
        bool onward = all;
        try
        {
            while (true)
            {
                if (node is null)
                {
                    // Targets that were linked while others were offered the head may stand before these.
                    onward = false;
                    node = FindNewLinkNeedsLock();
                    if (node is null)
                    {
                        break;
                    }
                }

                LinkNode<T> current = node;
                if (current is ReceiveWaiter<T> waiter)
                {
                    node = onward ? _links.After(current) : null;
                    RemoveNeedsLock(waiter);
                    waiter.Next = after;
                    after = waiter;
                    if (waiter.TakesMessage)
                    {
                        waiter.Give(TakeHeadNeedsLock());
                        break;
                    }

                    continue;
                }

                TargetLink<T> link = (TargetLink<T>)current;
                link.AwaitsHead = false;
                _stateLock.Exit(key);
                DataflowMessageStatus status;
                try
                {
                    status = link.Target.OfferMessage(header, item, Owner, consumeToAccept: false);
                }
                finally
                {
                    key = _stateLock.Enter();
                }

                if (status == DataflowMessageStatus.Accepted)
                {
                    taker = link;
                    break;
                }

                node = onward ? _links.After(current) : null;
                if (status == DataflowMessageStatus.DecliningPermanently)
                {
                    RemoveNeedsLock(link);
                }

                if (_reservedFor is not null || _headId != header.Id)
                {
                    break;
                }
            }

            if (taker is not null)
            {
                if (_headId == header.Id)
                {
                    TakeHeadNeedsLock();
                }

                if (taker.CountDown())
                {
                    RemoveNeedsLock(taker);
                }
            }
            else if (_headId == header.Id && _reservedFor is null && all)
            {
                _refused = true;
            }
        }
        finally
        {
            _offering = false;
            after = ServeLateNeedsLock(header.Id, after);
            _stateLock.Exit(key);
            after?.AfterLock();
        }

        if (taker is not null)
        {
            OnLeft(item);
        }

        return taker is not null || _headId != header.Id;
    }

    /// <summary>A link that was made while the head was being offered, and has not been offered it.</summary>
    private TargetLink<T>? FindNewLinkNeedsLock()
    {
        for (LinkNode<T>? node = _hasNewLinks ? _links.First : null; node is not null; node = node.Next)
        {
            if (node is TargetLink<T> { AwaitsHead: true } link)
            {
                return link;
            }
        }

        _hasNewLinks = false;
        return null;
    }

    /// <summary>Serves the receivers that came while the last targets were offered the head, if none of these took it: nobody else would serve them.</summary>
    /// <param name="id">The number of the head that was offered.</param>
    /// <param name="after">Those that have been served, or null.</param>
    /// <returns>All that have been served, or null.</returns>
    private ReceiveWaiter<T>? ServeLateNeedsLock(long id, ReceiveWaiter<T>? after)
    {
        LinkNode<T>? next;
        for (LinkNode<T>? node = _links.First; node is not null && _headId == id && _reservedFor is null; node = next)
        {
            next = node.Next;
            if (node is ReceiveWaiter<T> waiter)
            {
                RemoveNeedsLock(waiter);
                waiter.Next = after;
                after = waiter;
                if (waiter.TakesMessage)
                {
                    waiter.Give(TakeHeadNeedsLock());
                }
            }
        }

        return after;
    }

    /// <summary>The work item ends. Another one follows it if there is more to offer.</summary>
    private void OfferEnded(Exception? failure)
    {
        if (failure is not null)
        {
            AddException(failure);
            _host.OutputFailed();
        }

        LockOwner? key = _stateLock.Enter();
        _offerQueued = false;
        bool again = failure is null && QueueOfferNeedsLock();
        _context = again ? _context : null;
        bool finish = TryFinishNeedsLock();
        _stateLock.Exit(key);
        FinishIf(finish);
        if (again)
        {
            try
            {
                Work.Queue(this, _options.Scheduler, again: true);
            }
            catch (Exception e)
            {
                OfferEnded(e);
            }
        }
    }

    /// <summary>A work item failed: the block faults. The item may have been the one that was to see whether the block ends, so this looks for it.</summary>
    public void WorkFailed(Exception error)
    {
        AddException(error);
        _host.OutputFailed();
        FinishIfDone();
    }

    // Links.

    public IDisposable LinkTo(ITargetBlock<T> target, DataflowLinkOptions linkOptions)
    {
        ArgumentNullException.ThrowIfNull(target);
        ArgumentNullException.ThrowIfNull(linkOptions);
        if (!_completion.IsCompleted)
        {
            lock (this)
            {
                if (TryLink(target, linkOptions, out TargetLink<T>? only) is { } link)
                {
                    OfferToNewLink(link, only);
                    return new Unlinker(Owner, target, () => Unlink(link));
                }
            }
        }

        if (linkOptions.PropagateCompletion)
        {
            Protocol.PropagateOnceComplete(_completion.Task, target);
        }

        return Unlinker.Nothing;
    }

    /// <summary>Adds a target to the list, unless the block has ended.</summary>
    /// <param name="target">The target.</param>
    /// <param name="linkOptions">How it is linked.</param>
    /// <param name="only">The link, if all others have refused the head already.</param>
    private TargetLink<T>? TryLink(ITargetBlock<T> target, DataflowLinkOptions linkOptions, out TargetLink<T>? only)
    {
        only = null;
        LockOwner? key = _stateLock.Enter();
        try
        {
            if (_finishing)
            {
                return null;
            }

            ITargetBlock<T> offered = _links.Find(target) is null ? target : new PassThrough<T>(Owner, target, null);
            TargetLink<T> link = new(offered, linkOptions) { AwaitsHead = _offering };
            AddNeedsLock(link, linkOptions.Append);
            _hasNewLinks |= _offering;
            only = _refused ? link : null;
            return link;
        }
        finally
        {
            _stateLock.Exit(key);
        }
    }

    private void OfferToNewLink(TargetLink<T> link, TargetLink<T>? only)
    {
        long head = Volatile.Read(ref _headId);
        try
        {
            OfferHead(only, linking: true);
        }
        catch (Exception)
        {
            // The caller gets the exception. The target stays linked, and is offered the next head.
            LockOwner? key = _stateLock.Enter();
            _refused |= _headId == head && _links.First == link && link.Next is null;
            _stateLock.Exit(key);
            throw;
        }
        finally
        {
            ExitAndOfferNext(_stateLock.Enter());
        }
    }

    private void Unlink(TargetLink<T> link)
    {
        lock (this)
        {
            LockOwner? key = _stateLock.Enter();
            RemoveNeedsLock(link);
            _stateLock.Exit(key);
        }
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

    // What targets do with a message that they were offered.

    public T? Consume(DataflowMessageHeader messageHeader, ITargetBlock<T> target, out bool messageConsumed)
    {
        Protocol.CheckTarget(messageHeader, target);
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

            if (_links.OnlyNote)
            {
                ExitAndOfferNextHere(key);
            }
            else
            {
                ExitAndOfferNext(key);
            }
        }

        OnLeft(item);
        messageConsumed = true;
        return item;
    }

    public bool Reserve(DataflowMessageHeader messageHeader, ITargetBlock<T> target)
    {
        Protocol.CheckTarget(messageHeader, target);
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
        Protocol.CheckTarget(messageHeader, target);
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
            ExitAndOfferNext(key);
        }
    }

    // Receiving, and waiting for a message.

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
            OnLeft(item);
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
                // The filter is the user's code, so it runs under no lock. When it returns, the message may no longer be the head.
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

            // Under the offer lock, no other thread is offering the head. This one may be.
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
                ExitAndOfferNext(key);
            }

            OnLeft(item);
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
            ExitAndOfferNext(key);
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

    /// <inheritdoc/>
    public override bool IsReceivable()
    {
        LockOwner? key = _stateLock.Enter();
        bool receivable = _queue.Count > 0 && _reservedFor is null && !_offering;
        _stateLock.Exit(key);
        return receivable;
    }

    /// <inheritdoc/>
    public override void Enlist(ReceiveWaiter<T> waiter, CancellationToken cancellationToken)
    {
        LockOwner? key = _stateLock.Enter();
        AssertInvariants();
        if (waiter.IsGivenUp)
        {
            _stateLock.Exit(key);
            waiter.GiveUp(timedOut: !cancellationToken.IsCancellationRequested, cancellationToken);
            return;
        }

        if (_queue.Count > 0 && _reservedFor is null && !_offering)
        {
            bool finish = false;
            if (waiter.TakesMessage)
            {
                waiter.Give(TakeHeadNeedsLock());
                finish = TryFinishNeedsLock();
            }

            _stateLock.Exit(key);
            FinishIf(finish);
            waiter.AfterLock();
            return;
        }

        if (_finishing)
        {
            _stateLock.Exit(key);
            waiter.SourceEnded();
            return;
        }

        AddNeedsLock(waiter, append: true);
        _stateLock.Exit(key);
    }

    /// <inheritdoc/>
    public override void GiveUp(ReceiveWaiter<T> waiter, bool timedOut, CancellationToken token)
    {
        LockOwner? key = _stateLock.Enter();
        bool removed = RemoveNeedsLock(waiter);
        waiter.IsGivenUp = true;
        _stateLock.Exit(key);
        if (removed)
        {
            waiter.GiveUp(timedOut, token);
        }
    }

    /// <inheritdoc/>
    public override void OnTakenByWaiter(T item) => OnLeft(item);

    // The end.

    /// <inheritdoc/>
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

        // As with Microsoft's blocks, the block ends a moment later. Until then, a new link is offered the head.
        ThreadPool.UnsafeQueueUserWorkItem(static source => Unattended.Run(source, static source => source.FinishIfDone()), this, preferLocal: false);
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

    /// <inheritdoc/>
    public void Reconsider()
    {
        LockOwner? key = _stateLock.Enter();
        UpdateDirectNeedsLock();
        bool finish = TryFinishNeedsLock();
        _stateLock.Exit(key);
        FinishIf(finish);
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
            // In a work item of its own: it completes targets, which complete theirs, and the caller may hold locks of the user's code.
            ThreadPool.UnsafeQueueUserWorkItem(
                static source => Unattended.Run(source, static source => source.Finish(), static (source, error) => source.FinishFailed(error)),
                this,
                preferLocal: false);
        }
    }

    /// <summary>The work item that finishes did not begin, and nobody else finishes: so this does, here.</summary>
    private void FinishFailed(Exception error)
    {
        AddException(error);
        Finish();
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
        TellOfEnd(first);
    }

    // For listeners, who read without a lock. What grows later is read first, so a message that moves is missed rather than counted twice.

    /// <summary>How many messages wait.</summary>
    public int CountNow => _queue.Count;

    /// <summary>How many have left. To be read before those that wait.</summary>
    public long SentNow => Volatile.Read(ref _headId) - 1;

    /// <summary>How many were discarded. To be read before those that wait.</summary>
    public int DiscardedNow => Volatile.Read(ref _discarded);

    /// <inheritdoc/>
    public void Sample(ref BlockSample sample)
    {
        sample.Sent = SentNow;
        sample.Output = CountNow;
    }

    /// <inheritdoc/>
    public object[] LinkedNow => _links.ToArray();

    // For debuggers and tests.

    /// <inheritdoc/>
    public override void Show(BlockView view)
    {
        view.Output = _queue.ToArray();
        view.LinkedTargets = LinkedNow;
        view.ReservedFor = _reservedFor;
        view.IsCompleted = _completion.IsCompleted;
    }

    [Conditional("DEBUG")]
    private void AssertInvariants()
    {
        Debug.Assert(_headId >= 1, "Message numbers start at 1.");
        Debug.Assert(_reservedFor is null || _queue.Count > 0 || _finishing, "Only a message that is there can be reserved.");
        Debug.Assert(!_finishing || _completing, "Only a block without further outputs ends.");
    }
}

/// <summary>The output side of a block, whatever its outputs.</summary>
internal interface IOutputSide
{
    IDataflowBlock Block { get; }

    /// <summary>Whether the block is complete.</summary>
    bool IsCompleted { get; }

    /// <summary>The linked targets, read without a lock: one that is linked or unlinked meanwhile may hide others from this look.</summary>
    object[] LinkedNow { get; }

    /// <summary>Counts what has left and what waits.</summary>
    void Sample(ref BlockSample sample);

    /// <summary>Checks again whether the block is complete, after its token was cancelled.</summary>
    void Reconsider();

    /// <summary>Ends the outputs: the block completes when the last one has left, or at once after a fault or cancellation.</summary>
    void Complete(IEnumerable<Exception>? exceptions = null);
}

/// <summary>The block, as its output side sees it.</summary>
internal interface IOutputHost
{
    /// <summary>Whether an output is an array, each of whose items counts for the block's capacity. Otherwise the output counts as one message.</summary>
    bool CountsItems => false;

    /// <summary>Outputs have left a bounded block. Called under no lock, except that it may be the offer lock.</summary>
    void OutputLeft(int weight);

    /// <summary>A target threw: the block fails. The output side has the exception already.</summary>
    void OutputFailed();

    /// <summary>The block is complete.</summary>
    void OutputCompleted();
}
