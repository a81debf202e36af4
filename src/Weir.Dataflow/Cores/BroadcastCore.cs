using System.Diagnostics.CodeAnalysis;
using System.Threading.Tasks.Dataflow;
using Weir.Dataflow.Links;
using Weir.Dataflow.Sync;
using Weir.Dataflow.Waiters;

namespace Weir.Dataflow.Cores;

/// <summary>
/// What a BroadcastBlock does: its one worker makes each message the current one and offers it to all links. A reservation of the current message
/// makes the worker put the next one aside and rest until it ends.
/// </summary>
/// <remarks>The monitor (this object) is held while links are offered to, and guards them and the current message.</remarks>
internal sealed partial class BroadcastCore<T> : ExecCore<T>
{
    private readonly IPropagatorBlock<T, T> _owner;
    private readonly Func<T, T>? _clone;
    private LinkList<T> _links;
    private BlockCompletion _completion;
    private ITargetBlock<T>? _reservedFor;
    private T? _current;
    private T? _held;
    private bool _hasCurrent;
    private bool _hasHeld;
    private bool _ended;
    private long _currentId;

    /// <summary>What this block is called at its targets, to which it offers under the monitor and therefore once at a time.</summary>
    private readonly int _id = Sync.Gate.NewId();

    public BroadcastCore(IPropagatorBlock<T, T> owner, Func<T, T>? cloningFunction, BlockOptions options)
        : base(options)
    {
        _owner = owner;
        _clone = cloningFunction;
        ListenToToken();
    }

    /// <summary>The output side, under the name that other cores give it.</summary>
    public BroadcastCore<T> Source => this;

    public Task Completion => _completion.Task;

    protected override ITargetBlock<T> Self => _owner;

    protected override bool LetsGoEarly => true;

    protected override bool EndReachesOthers => true;

    public IDisposable LinkTo(ITargetBlock<T> target, DataflowLinkOptions linkOptions)
    {
        ArgumentNullException.ThrowIfNull(target);
        ArgumentNullException.ThrowIfNull(linkOptions);
        bool ended;
        IDisposable unlinker = Unlinker.Nothing;
        lock (this)
        {
            ended = _ended;
            TargetLink<T>? link = null;
            if (!ended)
            {
                if (_links.Find(target) is not null)
                {
                    target = new PassThrough<T>(_owner, target, null);
                }

                link = new TargetLink<T>(target, linkOptions);
                _links.Add(link, linkOptions.Append);
                unlinker = new Unlinker(() => Unlink(link));
            }

            // A reservation holds back the next message, not this one from a newcomer.
            if (_hasCurrent)
            {
                try
                {
                    Offer(target, link);
                }
                catch (Exception e)
                {
                    Complete(e, drop: true, always: true);
                    throw;
                }
            }
        }

        if (ended && linkOptions.PropagateCompletion)
        {
            _completion.Task.ContinueWith(
                static (task, state) => Protocol.Propagate(task, (IDataflowBlock)state!),
                target,
                CancellationToken.None,
                TaskContinuationOptions.ExecuteSynchronously | TaskContinuationOptions.DenyChildAttach,
                TaskScheduler.Default);
        }

        return unlinker;
    }

    public bool TryReceive(Predicate<T>? filter, [MaybeNullWhen(false)] out T item)
    {
        bool any;
        lock (this)
        {
            any = _hasCurrent;
            item = _current;
        }

        if (!any || (filter is not null && !filter(item!)))
        {
            item = default;
            return false;
        }

        item = Copy(item!);
        return true;
    }

    public bool TryReceiveAll([NotNullWhen(true)] out IList<T>? items)
    {
        bool any = TryReceive(null, out T? item);
        items = any ? [item!] : null;
        return any;
    }

    public T? Consume(DataflowMessageHeader messageHeader, ITargetBlock<T> target, out bool messageConsumed)
    {
        Protocol.CheckClaim(messageHeader, target);
        T item;
        bool reserved;
        lock (this)
        {
            // There is a copy for everybody, so a reservation holds back the next message and no other consumer.
            if (!_hasCurrent || messageHeader.Id != _currentId)
            {
                messageConsumed = false;
                return default;
            }

            reserved = _reservedFor == target;
            if (reserved)
            {
                _reservedFor = null;
            }

            item = _current!;
            if (_links.Find(target) is { } link && link.CountDown())
            {
                _links.Remove(link);
            }
        }

        if (reserved)
        {
            GoOn();
        }

        messageConsumed = true;
        return Copy(item);
    }

    public bool Reserve(DataflowMessageHeader messageHeader, ITargetBlock<T> target)
    {
        Protocol.CheckClaim(messageHeader, target);
        lock (this)
        {
            if (_reservedFor is not null || !_hasCurrent || messageHeader.Id != _currentId)
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
        lock (this)
        {
            if (_reservedFor != target || messageHeader.Id != _currentId)
            {
                throw Protocol.NotReserved();
            }

            _reservedFor = null;
            Offer(target, _links.Find(target));
        }

        GoOn();
    }

    public void Fault(Exception exception)
    {
        Complete(exception, drop: true);
        DropHeld();
    }

    protected override void Cancelled()
    {
        base.Cancelled();
        DropHeld();
    }

    protected override void Finished(List<Exception>? exceptions)
    {
        LinkNode<T>? first;
        lock (this)
        {
            _ended = true;
            first = _links.Clear();
        }

        StopListening();
        _completion.Complete(exceptions, Options.Token);
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

    private T Copy(T item) => _clone is null ? item : _clone(item);

    /// <summary>The block has failed or was cancelled: what a reservation holds back is thrown away.</summary>
    private void DropHeld()
    {
        bool held;
        lock (this)
        {
            held = _hasHeld;
            _hasHeld = false;
            _held = held ? default : _held;
        }

        if (held)
        {
            PendingDone();
        }
    }

    /// <summary>The reservation is over: what has been held back goes on, on a thread of the block's.</summary>
    private void GoOn()
    {
        bool held;
        lock (this)
        {
            held = _hasHeld;
            _hasHeld = false;
        }

        if (held)
        {
            Task.Factory.StartNew(
                static core => ((BroadcastCore<T>)core!).PublishHeld(), this, CancellationToken.None, TaskCreationOptions.DenyChildAttach, Options.Scheduler);
        }
    }

    private void PublishHeld()
    {
        T item = _held!;
        _held = default;
        if (Process(item, 0))
        {
            PendingDone();
        }
    }

    private void Unlink(TargetLink<T> link)
    {
        lock (this)
        {
            _links.Remove(link);
        }
    }
}
