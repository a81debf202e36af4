using System.Diagnostics.CodeAnalysis;
using System.Threading.Tasks.Dataflow;
using Weir.Dataflow.Debugging;
using Weir.Dataflow.Links;
using Weir.Dataflow.Metering;
using Weir.Dataflow.Sync;
using Weir.Dataflow.Waiters;

namespace Weir.Dataflow.Cores;

/// <summary>
/// The core of a BroadcastBlock. Its only worker makes each message the current one and offers it to all links. While the current message is reserved,
/// the worker keeps the next one and rests.
/// </summary>
/// <remarks>The monitor (that of the output side) is held while messages are offered to links, and also guards reservations.</remarks>
internal sealed partial class BroadcastCore<T> : ExecCore<T>, IOfferSource<T>
{
    private readonly IPropagatorBlock<T, T> _owner;
    private ITargetBlock<T>? _reservedFor;
    private T? _held;
    private bool _hasHeld;
    private long _heldId;
    private long _currentId;

    /// <summary>The identity of this block at its targets. It offers to them under the monitor, so one offer at a time.</summary>
    private readonly int _id = BiasedLock.NewId();

    public BroadcastCore(IPropagatorBlock<T, T> owner, Func<T, T>? cloningFunction, BlockOptions options)
        : base(options)
    {
        _owner = owner;
        Source = new CopySource<T>(cloningFunction);
        ListenToToken();
    }

    /// <summary>The current message and those who want it.</summary>
    public CopySource<T> Source { get; }

    protected override ITargetBlock<T> Self => _owner;

    protected override long SentNow => Volatile.Read(ref _currentId);

    protected override bool DeclinesPostponedEarly => true;

    protected override bool EndReachesOthers => true;

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

            // A reservation holds back the next message; a new link still gets this one.
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
        Protocol.CheckClaim(messageHeader, target);
        T item;
        bool reserved;
        lock (Source)
        {
            // Every consumer gets a copy, so a reservation holds back the next message, but no other consumer.
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
        Protocol.CheckClaim(messageHeader, target);
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
        Protocol.CheckClaim(messageHeader, target);
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
            // Also if the target throws: the reservation has ended.
            if (released)
            {
                ContinueHeld();
            }
        }
    }

    /// <summary>Accepts no more messages, and fails if there is an exception.</summary>
    public void End(Exception? exception)
    {
        Complete(exception, drop: exception is not null);
        if (exception is not null)
        {
            DropHeld();
        }
    }

    /// <inheritdoc/>
    public override void Show(BlockView view)
    {
        base.Show(view);
        view.ReservedFor = _reservedFor;
    }

    protected override void Cancelled()
    {
        base.Cancelled();
        DropHeld();
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
                Protocol.Propagate(Source.Completion, link.Target);
            }

            first = next;
        }
    }

    /// <summary>The block has failed or was cancelled: discards what a reservation holds back.</summary>
    private void DropHeld()
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
            DiscardHeld();
        }
    }

    private void DiscardHeld()
    {
        CallWatch? watch = CallEnds(out Exception? outer);
        DiscardTaken();
        watch?.Left(_heldId, isDone: true, outer);
        PendingDone();
    }

    /// <summary>The reservation has ended: what was held back continues, on a thread of the block.</summary>
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
                // The scheduler takes no task, and without this message's end the block would never end.
                Complete(e, drop: true, always: true);
                _held = default;
                DiscardHeld();
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
        watch?.Left(id, isDone, outer);
        if (isDone)
        {
            PendingDone();
        }
    }
}
