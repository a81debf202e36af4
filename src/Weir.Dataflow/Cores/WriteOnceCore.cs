using System.Diagnostics.CodeAnalysis;
using System.Threading.Tasks.Dataflow;
using Weir.Dataflow.Links;
using Weir.Dataflow.Waiters;

namespace Weir.Dataflow.Cores;

/// <summary>What a WriteOnceBlock does. It has one message, so a monitor (this object) for everything is enough.</summary>
internal sealed partial class WriteOnceCore<T>
{
    private static readonly DataflowMessageHeader Header = new(1);

    private readonly IPropagatorBlock<T, T> _owner;
    private readonly Func<T, T>? _clone;
    private LinkList<T> _links;
    private BlockCompletion _completion;
    private CancellationTokenRegistration _registration;
    private List<Exception>? _exceptions;
    private T? _value;
    private bool _hasValue;
    private bool _declining;
    private bool _ended;

    public WriteOnceCore(IPropagatorBlock<T, T> owner, Func<T, T>? cloningFunction, BlockOptions options)
    {
        _owner = owner;
        _clone = cloningFunction;
        Options = options;
        if (options.Token.CanBeCanceled)
        {
            _registration = options.Token.UnsafeRegister(static core => ((WriteOnceCore<T>)core!).Complete(null), this);
        }
    }

    public BlockOptions Options { get; }

    public Task Completion => _completion.Task;

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

            _value = messageValue;
            _hasValue = true;
            _declining = true;
        }

        QueueEnd();
        return DataflowMessageStatus.Accepted;
    }

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
            hasValue = _hasValue;
            if (!hasValue && !_ended)
            {
                if (_links.Find(target) is not null)
                {
                    target = new PassThrough<T>(_owner, target, null);
                }

                TargetLink<T> link = new(target, linkOptions);
                _links.Add(link, linkOptions.Append);
                return new Unlinker(() => Unlink(link));
            }
        }

        if (hasValue)
        {
            Offer(target);
        }

        if (linkOptions.PropagateCompletion)
        {
            _completion.Task.ContinueWith(
                static (task, state) => Protocol.Propagate(task, (IDataflowBlock)state!),
                target,
                CancellationToken.None,
                TaskContinuationOptions.ExecuteSynchronously | TaskContinuationOptions.DenyChildAttach,
                TaskScheduler.Default);
        }

        return Unlinker.Nothing;
    }

    public bool TryReceive(Predicate<T>? filter, [MaybeNullWhen(false)] out T item)
    {
        // Value and flag under the lock: who sees that there is a value sees the value (dotnet/runtime #123432).
        bool any;
        lock (this)
        {
            any = _hasValue;
            item = _value;
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
        messageConsumed = Reserve(messageHeader, target);
        return messageConsumed ? Copy(_value!) : default;
    }

    public bool Reserve(DataflowMessageHeader messageHeader, ITargetBlock<T> target)
    {
        Protocol.CheckClaim(messageHeader, target);
        lock (this)
        {
            return messageHeader.Id == Header.Id && _hasValue;
        }
    }

    public void Release(DataflowMessageHeader messageHeader, ITargetBlock<T> target)
    {
        if (!Reserve(messageHeader, target))
        {
            throw Protocol.NotReserved();
        }

        // There is always one for everybody: who gave it back is asked again.
        Offer(target);
    }

    private void QueueEnd()
    {
        try
        {
            if (_hasValue)
            {
                Task.Factory.StartNew(
                    static core => ((WriteOnceCore<T>)core!).End(), this, CancellationToken.None, TaskCreationOptions.DenyChildAttach, Options.Scheduler);
            }
            else
            {
                ThreadPool.UnsafeQueueUserWorkItem(static core => core.End(), this, preferLocal: false);
            }
        }
        catch (Exception e)
        {
            (_exceptions ??= []).Add(e);
            End();
        }
    }

    private void End()
    {
        List<LinkNode<T>> nodes = [];
        lock (this)
        {
            _ended = true;
            LinkNode<T>? next;
            for (LinkNode<T>? node = _links.Clear(); node is not null; node = next)
            {
                next = node.Next;
                node.Next = null;
                nodes.Add(node);
            }
        }

        foreach (LinkNode<T> node in nodes)
        {
            if (!_hasValue)
            {
                break;
            }

            try
            {
                if (node is TargetLink<T> link)
                {
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

        _registration.Unregister();
        _completion.Complete(_exceptions, _hasValue ? CancellationToken.None : Options.Token);
        foreach (LinkNode<T> node in nodes)
        {
            if (node is TargetLink<T> { PropagatesCompletion: true } link)
            {
                Protocol.Propagate(_completion.Task, link.Target);
            }
            else if (!_hasValue && node is ReceiveWaiter<T> waiter)
            {
                waiter.SourceEnded();
            }
        }
    }

    private void Offer(ITargetBlock<T> target) => target.OfferMessage(Header, _value!, _owner, consumeToAccept: _clone is not null);

    private T Copy(T item) => _clone is null ? item : _clone(item);

    private void Unlink(TargetLink<T> link)
    {
        lock (this)
        {
            _links.Remove(link);
        }
    }
}
