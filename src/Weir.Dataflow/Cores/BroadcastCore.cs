using System.Diagnostics.CodeAnalysis;
using System.Threading.Tasks.Dataflow;
using Weir.Core;
using Weir.Dataflow.Debugging;
using Weir.Dataflow.Links;
using Weir.Dataflow.Metering;
using Weir.Dataflow.Sync;
using Weir.Dataflow.Waiters;

namespace Weir.Dataflow.Cores;

/// <summary>The core of a BroadcastBlock: each message becomes the current one and is offered to all links, and everybody may have a copy of it.</summary>
/// <remarks>
/// <para>
/// <b>Locks.</b> The <i>offer lock</i> is the monitor of <see cref="Source"/>. It is held while a message is published (made the current one, and offered to
/// the links), and guards the current message, the links and the reservation. It comes outside the targets' input locks and outside this block's own: see
/// <see cref="SourceCore{T}"/>. The queue of the input is that of <see cref="ExecCore{T}"/>, whose only worker publishes.
/// </para>
/// <para>
/// <b>Reserving.</b> While the current message is reserved, the next one is held back: the worker takes it out of the queue, holds it in <c>_held</c>, and ends
/// as if its call were pending. Who ends the reservation takes it out of <c>_held</c> under the offer lock, and a work item publishes it. A fault or a
/// cancellation discards it instead. A reservation keeps nobody else from taking copies of the current message.
/// </para>
/// <para>
/// <b>Copies.</b> With a cloning function, targets are told to consume, and the function runs for those that do, under no lock of this block but perhaps the
/// offer lock. Without one, targets get the message itself.
/// </para>
/// <para>
/// <b>The end.</b> The input ends like that of any block with a worker. Then the links are cleared under the offer lock, the block completes, and then the
/// targets do.
/// </para>
/// </remarks>
internal sealed class BroadcastCore<T> : ExecCore<T>, IOfferSource<T>
{
    private const int OffersPerLock = 16;

    // Immutable.
    private readonly IPropagatorBlock<T, T> _owner;

    /// <summary>The id under which this block enters the input locks of its targets. It does so under the offer lock, so on one thread at a time.</summary>
    private readonly int _id = BiasedLock.NewId();

    // Under the offer lock.

    /// <summary>The target that has reserved the current message.</summary>
    private ITargetBlock<T>? _reservedFor;

    /// <summary>The number of the current message. Listeners read it without the lock.</summary>
    private long _currentId;

    /// <summary>Whether the next message is held back. Who clears this, under the lock, owns <c>_held</c> and <c>_heldId</c> from then on.</summary>
    private bool _hasHeld;
    private T? _held;
    private long _heldId;

    public BroadcastCore(IPropagatorBlock<T, T> owner, Func<T, T>? cloningFunction, BlockOptions options)
        : base(options)
    {
        _owner = owner;
        Source = new CopySource<T>(cloningFunction);
        ListenToToken();
    }

    /// <summary>The current message, and those who want it.</summary>
    public CopySource<T> Source { get; }

    protected override ITargetBlock<T> Self => _owner;

    protected override bool DeclinesPostponedEarly => true;

    protected override bool EndReachesOthers => true;

    // A message becomes the current one.

    protected override bool Process(T item, long id)
    {
        lock (Source)
        {
            if (!TryPublish(item, id))
            {
                return false;
            }
        }

        Free(1, onWorker: true);
        return true;
    }

    protected override bool ProcessAll(InputQueue<T> queue, ReadOnlySpan<T> items, ref int budget)
    {
        if (IsBounded || budget < items.Length)
        {
            return base.ProcessAll(queue, items, ref budget);
        }

        // Publishes several messages in one hold of the lock. Nothing is freed or queued meanwhile.
        budget -= items.Length;
        while (!items.IsEmpty && !Discards)
        {
            ReadOnlySpan<T> some = items[..Math.Min(items.Length, OffersPerLock)];
            items = items[some.Length..];
            lock (Source)
            {
                foreach (ref readonly T slot in some)
                {
                    T item = slot;
                    if (Discards)
                    {
                        break;
                    }

                    queue.Take(in slot);
                    if (!TryPublish(item, queue.ReadCount - 1))
                    {
                        return false;
                    }
                }
            }
        }

        return true;
    }

    /// <summary>Publishes a message, unless the current one is reserved. Then this one is held back.</summary>
    /// <returns>Whether the worker may go on with the next message.</returns>
    private bool TryPublish(T item, long id)
    {
        if (_reservedFor is null)
        {
            Publish(item);
        }
        else if (!Discards)
        {
            _held = item;
            _heldId = id;
            _hasHeld = true;
            return false;
        }
        else
        {
            DiscardTaken();
        }

        return true;
    }

    private void Publish(T item)
    {
        Source.SetNeedsLock(item);
        _currentId++;
        try
        {
            // A target that is linked from inside an offer is offered the message when it is linked.
            long last = Source.Links.Highest;
            LinkNode<T>? next;
            for (LinkNode<T>? node = Source.Links.First; node is not null && node.Order <= last && _reservedFor is null; node = next)
            {
                if (node is TargetLink<T> link)
                {
                    Offer(link.Target, link);
                    next = Source.Links.After(node);
                }
                else
                {
                    next = Source.Links.After(node);
                    Source.Links.Remove(node);
                    Source.GiveTo((ReceiveWaiter<T>)node);
                }
            }
        }
        catch (Exception e)
        {
            Complete(e, discard: true, always: true);
        }
    }

    private void Offer(ITargetBlock<T> target, TargetLink<T>? link)
    {
        // No copy is made for a target that may not take it.
        if (link?.Direct is { IsDeclining: false } direct
            && (!Source.Clones || !direct.IsBounded)
            && direct.TryAcceptDirect(Source.Copy(Source.Value!), _id, out IAfterLock? after))
        {
            after?.AfterLock();
            return;
        }

        DataflowMessageStatus status = target.OfferMessage(
            new DataflowMessageHeader(_currentId), Source.Value!, _owner, consumeToAccept: Source.Clones);
        if (link is null)
        {
            return;
        }

        // With a cloning function, the target has consumed the message, and that has counted it.
        if (status == DataflowMessageStatus.DecliningPermanently
            || (status == DataflowMessageStatus.Accepted && !Source.Clones && link.CountDown()))
        {
            Source.Links.Remove(link);
        }
    }

    // The message that a reservation holds back.

    /// <summary>The reservation has ended: a work item publishes the message that was held back.</summary>
    private void ContinueHeld()
    {
        bool held;
        lock (Source)
        {
            held = _hasHeld;
            _hasHeld = false;
        }

        if (held)
        {
            try
            {
                Task.Factory.StartNew(
                    static core => ((BroadcastCore<T>)core!).PublishHeld(),
                    this,
                    CancellationToken.None,
                    TaskCreationOptions.DenyChildAttach,
                    Options.Scheduler);
            }
            catch (Exception e)
            {
                // The scheduler takes no task. If this message's call did not end, the block would never end.
                Complete(e, discard: true, always: true);
                _held = default;
                HeldDiscarded();
            }
        }
    }

    private void PublishHeld()
    {
        T item = _held!;
        long id = _heldId;
        _held = default;
        CallWatch? watch = CallEnds(out Exception? outer);
        bool isDone = Process(item, id);
        watch?.Exit(id, isDone, outer);
        if (isDone)
        {
            PendingDone();
        }
    }

    /// <summary>The block has failed or was cancelled: discards the message that a reservation holds back.</summary>
    private void DiscardHeld()
    {
        bool held;
        lock (Source)
        {
            held = _hasHeld;
            _hasHeld = false;
            _held = held ? default : _held;
        }

        if (held)
        {
            HeldDiscarded();
        }
    }

    /// <summary>The message that was held back is discarded, and its call has ended with that.</summary>
    private void HeldDiscarded()
    {
        CallWatch? watch = CallEnds(out Exception? outer);
        DiscardTaken();
        watch?.Exit(_heldId, isDone: true, outer);
        PendingDone();
    }

    // What targets do with the current message.

    public IDisposable LinkTo(ITargetBlock<T> target, DataflowLinkOptions linkOptions)
    {
        ArgumentNullException.ThrowIfNull(target);
        ArgumentNullException.ThrowIfNull(linkOptions);
        bool ended;
        IDisposable unlinker = Unlinker.Nothing;
        lock (Source)
        {
            ended = Source.HasEnded;
            TargetLink<T>? link = null;
            if (!ended)
            {
                link = Source.LinkNeedsLock(_owner, ref target, linkOptions);
                unlinker = new Unlinker(_owner, target, () => Source.Unlink(link));
            }

            // A reservation holds back the next message. A new link is offered this one all the same.
            if (Source.HasValue)
            {
                Offer(target, link);
            }
        }

        if (ended && linkOptions.PropagateCompletion)
        {
            Protocol.PropagateOnceComplete(Source.Completion, target);
        }

        return unlinker;
    }

    public T? Consume(DataflowMessageHeader messageHeader, ITargetBlock<T> target, out bool messageConsumed)
    {
        Protocol.CheckTarget(messageHeader, target);
        T item;
        bool reserved;
        lock (Source)
        {
            // Each consumer gets a copy, so a reservation holds back the next message, but no other consumer.
            if (!Source.HasValue || messageHeader.Id != _currentId)
            {
                messageConsumed = false;
                return default;
            }

            reserved = _reservedFor == target;
            if (reserved)
            {
                _reservedFor = null;
            }

            item = Source.Value!;
            if (Source.Links.Find(target) is { } link && link.CountDown())
            {
                Source.Links.Remove(link);
            }
        }

        if (reserved)
        {
            ContinueHeld();
        }

        T copy = Source.Copy(item);
        messageConsumed = true;
        return copy;
    }

    public bool Reserve(DataflowMessageHeader messageHeader, ITargetBlock<T> target)
    {
        Protocol.CheckTarget(messageHeader, target);
        lock (Source)
        {
            if (_reservedFor is not null || !Source.HasValue || messageHeader.Id != _currentId)
            {
                return false;
            }

            _reservedFor = target;
            return true;
        }
    }

    public void Release(DataflowMessageHeader messageHeader, ITargetBlock<T> target)
    {
        Protocol.CheckTarget(messageHeader, target);
        bool released = false;
        try
        {
            lock (Source)
            {
                if (_reservedFor != target || messageHeader.Id != _currentId)
                {
                    throw Protocol.NotReserved();
                }

                _reservedFor = null;
                released = true;
                Offer(target, Source.Links.Find(target));
            }
        }
        finally
        {
            // The reservation has ended, even if the target throws.
            if (released)
            {
                ContinueHeld();
            }
        }
    }

    // The end.

    /// <summary>Accepts no more messages, and fails if there is an exception.</summary>
    public void End(Exception? exception)
    {
        Complete(exception, discard: exception is not null);
        if (exception is not null)
        {
            DiscardHeld();
        }
    }

    protected override void Cancelled()
    {
        base.Cancelled();
        DiscardHeld();
    }

    protected override void Finished(List<Exception>? exceptions)
    {
        LinkNode<T>? first;
        lock (Source)
        {
            Source.HasEnded = true;
            first = Source.Links.Clear();
        }

        StopListening();
        EndMetering();
        Source.End.Complete(exceptions, Options.Token);
        Source.TellOfEnd(first);
    }

    // For listeners and debuggers.

    protected override long SentNow => Volatile.Read(ref _currentId);

    protected override object[] LinkedNow => Source.LinkedNow;

    /// <inheritdoc/>
    public override void Show(BlockView view)
    {
        base.Show(view);
        view.ReservedFor = _reservedFor;
    }
}

/// <summary>The output side of a block that has one message at a time, of which everybody may have a copy.</summary>
/// <remarks>
/// The monitor of this object guards the message and the list of those who want it. It is the block's offer lock, so it may be held while targets are called.
/// Copies for those who receive are made under no lock.
/// </remarks>
internal class CopySource<T>(Func<T, T>? cloningFunction) : ReceiveSource<T>
{
    // Under the monitor.

    /// <summary>Who wants the message.</summary>
    public LinkList<T> Links;

    // Atomic: set once, by the thread that ends the block; any thread reads it.
    public BlockCompletion End;

    public override Task Completion => End.Task;

    public override bool IsCompleted => End.IsCompleted;

    /// <summary>The message. Changed under the monitor.</summary>
    public T? Value { get; private set; }

    public bool HasValue { get; private set; }

    /// <summary>No other message comes, and the list is empty for good. Changed under the monitor.</summary>
    public bool HasEnded { get; set; }

    /// <summary>Whether those who take the message consume it, so that a copy is made for each of them and for nobody else.</summary>
    public bool Clones => cloningFunction is not null;

    public T Copy(T item) => cloningFunction is null ? item : cloningFunction(item);

    public void SetNeedsLock(T item)
    {
        Value = item;
        HasValue = true;
    }

    public override bool TryReceive([MaybeNullWhen(false)] out T item) => TryReceive(null, out item);

    public override bool TryReceive(Predicate<T>? filter, [MaybeNullWhen(false)] out T item)
    {
        // Both under the monitor: otherwise a thread could see that there is a message and read the default.
        bool any;
        lock (this)
        {
            any = HasValue;
            item = Value;
        }

        if (!any || (filter is not null && !filter(item!)))
        {
            item = default;
            return false;
        }

        item = Copy(item!);
        return true;
    }

    public override bool TryReceiveAll([NotNullWhen(true)] out IList<T>? items)
    {
        bool any = TryReceive(null, out T? item);
        items = any ? [item!] : null;
        return any;
    }

    public override bool IsReceivable()
    {
        lock (this)
        {
            return HasValue;
        }
    }

    public override void Enlist(ReceiveWaiter<T> waiter, CancellationToken cancellationToken)
    {
        bool any;
        lock (this)
        {
            any = HasValue;
            if (!waiter.IsGivenUp && !any && !HasEnded)
            {
                Links.Add(waiter, append: true);
                return;
            }
        }

        if (waiter.IsGivenUp)
        {
            waiter.GiveUp(timedOut: !cancellationToken.IsCancellationRequested, cancellationToken);
        }
        else if (!any)
        {
            waiter.SourceEnded();
        }
        else
        {
            GiveTo(waiter);
        }
    }

    public override void GiveUp(ReceiveWaiter<T> waiter, bool timedOut, CancellationToken token)
    {
        bool removed;
        lock (this)
        {
            removed = Links.Remove(waiter);
            waiter.IsGivenUp = true;
        }

        if (removed)
        {
            waiter.GiveUp(timedOut, token);
        }
    }

    /// <summary>The linked targets, read without a lock.</summary>
    public object[] LinkedNow => Links.ToArray();

    /// <inheritdoc/>
    public override void Show(BlockView view)
    {
        view.HasValue = HasValue;
        view.Value = Value;
        view.LinkedTargets = LinkedNow;
        view.IsCompleted = End.IsCompleted;
    }

    /// <summary>Puts a target into the list.</summary>
    /// <param name="source">The block itself.</param>
    /// <param name="target">The target; another one stands for it if it is linked already.</param>
    /// <param name="linkOptions">How it is linked.</param>
    public TargetLink<T> LinkNeedsLock(ISourceBlock<T> source, ref ITargetBlock<T> target, DataflowLinkOptions linkOptions)
    {
        if (Links.Find(target) is not null)
        {
            target = new PassThrough<T>(source, target, null);
        }

        TargetLink<T> link = new(target, linkOptions);
        Links.Add(link, linkOptions.Append);
        return link;
    }

    public void Unlink(TargetLink<T> link)
    {
        lock (this)
        {
            Links.Remove(link);
        }
    }

    /// <summary>
    /// Gives a copy of the message to a waiter that is no longer in the list. Throws nothing: if no copy can be made, the waiter gets the exception.
    /// </summary>
    public void GiveTo(ReceiveWaiter<T> waiter)
    {
        if (waiter.TakesMessage)
        {
            try
            {
                waiter.Give(Copy(Value!));
            }
            catch (Exception e)
            {
                waiter.Fail(e);
                return;
            }
        }

        waiter.AfterLock();
    }
}

/// <summary>The core of a WriteOnceBlock: the first message is everybody's, and the block ends with it.</summary>
/// <remarks>
/// The monitor of this object guards everything. It is held while the one message is consumed from its source, because no other may come meanwhile. Once there
/// is a message it never changes, so links and consumers are served without the monitor. Who sets <c>_declining</c> queues the end: links and receivers get the
/// message, the block completes, and then the targets do.
/// </remarks>
internal sealed class WriteOnceCore<T> : CopySource<T>, IOfferSource<T>, IUnattended, IMeteredBlock
{
    private static readonly DataflowMessageHeader Header = new(1);

    // Immutable; the registration is set by the constructor.
    private readonly IPropagatorBlock<T, T> _owner;
    private CancellationTokenRegistration _registration;

    // Under the monitor.

    /// <summary>There is a message, or none comes. Whoever sets it queues the end.</summary>
    private bool _declining;
    private ListedBlock _listed;

    /// <summary>Why the block fails. Once the end is queued, it belongs to the thread that ends the block.</summary>
    private List<Exception>? _exceptions;

    public WriteOnceCore(IPropagatorBlock<T, T> owner, Func<T, T>? cloningFunction, BlockOptions options)
        : base(cloningFunction)
    {
        _owner = owner;
        Options = options;
        BlockListeners.Look();
        if (options.Token.CanBeCanceled)
        {
            _registration = options.Token.UnsafeRegister(
                static core => Unattended.Run((WriteOnceCore<T>)core!, static core => core.Complete(null)), this);
        }
    }

    public BlockOptions Options { get; }

    IDataflowBlock IMeteredBlock.Block => _owner;

    string? IMeteredBlock.Name => Options.GivenName(_owner);

    int? IMeteredBlock.Capacity => Options.Bound;

    /// <inheritdoc/>
    /// <remarks>The one message has left as soon as everybody can have it.</remarks>
    public BlockSample Sample()
    {
        int count = HasValue ? 1 : 0;
        return new BlockSample { Received = count, Processed = count, Sent = count };
    }

    public bool Post(T item) => Offer(Header, item, null, consumeToAccept: false) == DataflowMessageStatus.Accepted;

    public DataflowMessageStatus Offer(DataflowMessageHeader messageHeader, T messageValue, ISourceBlock<T>? source, bool consumeToAccept)
    {
        Protocol.CheckOffer(messageHeader, source, consumeToAccept);
        lock (this)
        {
            if (_declining)
            {
                return DataflowMessageStatus.DecliningPermanently;
            }

            if (consumeToAccept)
            {
                messageValue = source!.ConsumeMessage(messageHeader, _owner, out bool consumed)!;
                if (!consumed)
                {
                    return DataflowMessageStatus.NotAvailable;
                }
            }

            if (BlockListeners.IsMetered)
            {
                // The block ends with this message, so a listener that comes later has nothing to read.
                _listed.Begin(this);
            }

            SetNeedsLock(messageValue);
            _declining = true;
        }

        QueueEnd();
        return DataflowMessageStatus.Accepted;
    }

    /// <summary>The callback of the token failed: the block ends with that.</summary>
    public void WorkFailed(Exception error) => Complete(error);

    public void Complete(Exception? exception)
    {
        lock (this)
        {
            if (_declining)
            {
                return;
            }

            _declining = true;
            if (exception is not null)
            {
                _exceptions = [exception];
            }
        }

        QueueEnd();
    }

    public IDisposable LinkTo(ITargetBlock<T> target, DataflowLinkOptions linkOptions)
    {
        ArgumentNullException.ThrowIfNull(target);
        ArgumentNullException.ThrowIfNull(linkOptions);
        bool hasValue;
        lock (this)
        {
            hasValue = HasValue;
            if (!hasValue && !HasEnded)
            {
                TargetLink<T> link = LinkNeedsLock(_owner, ref target, linkOptions);
                return new Unlinker(_owner, target, () => Unlink(link));
            }
        }

        if (hasValue)
        {
            Offer(target);
        }

        if (linkOptions.PropagateCompletion)
        {
            Protocol.PropagateOnceComplete(Completion, target);
        }

        return Unlinker.Nothing;
    }

    public T? Consume(DataflowMessageHeader messageHeader, ITargetBlock<T> target, out bool messageConsumed)
    {
        Protocol.CheckTarget(messageHeader, target);
        messageConsumed = false;
        if (!Reserve(messageHeader, target))
        {
            return default;
        }

        T copy = Copy(Value!);
        messageConsumed = true;
        return copy;
    }

    public bool Reserve(DataflowMessageHeader messageHeader, ITargetBlock<T> target)
    {
        Protocol.CheckTarget(messageHeader, target);
        lock (this)
        {
            return messageHeader.Id == Header.Id && HasValue;
        }
    }

    public void Release(DataflowMessageHeader messageHeader, ITargetBlock<T> target)
    {
        if (!Reserve(messageHeader, target))
        {
            throw Protocol.NotReserved();
        }

        // Each target may have the message, so the one that released it is offered it again.
        Offer(target);
    }

    private void QueueEnd()
    {
        try
        {
            if (HasValue)
            {
                Task.Factory.StartNew(
                    static core => ((WriteOnceCore<T>)core!).FinishUnattended(),
                    this,
                    CancellationToken.None,
                    TaskCreationOptions.DenyChildAttach,
                    Options.Scheduler);
            }
            else
            {
                ThreadPool.UnsafeQueueUserWorkItem(static core => core.FinishUnattended(), this, preferLocal: false);
            }
        }
        catch (Exception e)
        {
            FinishFailed(e);
        }
    }

    private void FinishUnattended() => Unattended.Run(this, static core => core.Finish(), static (core, error) => core.FinishFailed(error));

    /// <summary>The work item that ends the block did not begin, and nobody else does it: so this does, here.</summary>
    private void FinishFailed(Exception error)
    {
        (_exceptions ??= []).Add(error);
        Finish();
    }

    private void Finish()
    {
        LinkNode<T>? first;
        lock (this)
        {
            HasEnded = true;
            first = Links.Clear();
        }

        if (HasValue)
        {
            first = GiveToAll(first);
        }

        _registration.Unregister();
        _listed.End(this);
        End.Complete(_exceptions, HasValue ? CancellationToken.None : Options.Token);
        TellOfEnd(first);
    }

    /// <summary>Gives the message to all that were in the list.</summary>
    /// <param name="first">The first of them, chained by Next.</param>
    /// <returns>The first of the links among them, which are to be told of the end, chained in the same order.</returns>
    private TargetLink<T>? GiveToAll(LinkNode<T>? first)
    {
        TargetLink<T>? firstLink = null;
        TargetLink<T>? lastLink = null;
        LinkNode<T>? next;
        for (LinkNode<T>? node = first; node is not null; node = next)
        {
            // Who is given the message may be chained to others then.
            next = node.Next;
            node.Next = null;
            try
            {
                if (node is TargetLink<T> link)
                {
                    if (lastLink is null)
                    {
                        firstLink = link;
                    }
                    else
                    {
                        lastLink.Next = link;
                    }

                    lastLink = link;
                    Offer(link.Target);
                }
                else
                {
                    GiveTo((ReceiveWaiter<T>)node);
                }
            }
            catch (Exception e)
            {
                (_exceptions ??= []).Add(e);
            }
        }

        return firstLink;
    }

    private void Offer(ITargetBlock<T> target) => target.OfferMessage(Header, Value!, _owner, consumeToAccept: Clones);
}
