using System.Threading.Tasks.Dataflow;
using Weir.Core;
using Weir.Dataflow.Links;
using Weir.Dataflow.Metering;
using Weir.Dataflow.Waiters;

namespace Weir.Dataflow.Cores;

/// <summary>The core of a WriteOnceBlock. It has one message, so one monitor (this object) is enough for everything.</summary>
internal sealed class WriteOnceCore<T> : CopySource<T>, IOfferSource<T>, IUnattended, IMeteredBlock
{
    private static readonly DataflowMessageHeader Header = new(1);

    private readonly IPropagatorBlock<T, T> _owner;
    private CancellationTokenRegistration _registration;
    private List<Exception>? _exceptions;
    private bool _declining;
    private ListedBlock _listed;

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

    Type IMeteredBlock.Type => _owner.GetType();

    string? IMeteredBlock.Name => Options.GivenName(_owner);

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

            _listed.Begin(this);
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
        Protocol.CheckClaim(messageHeader, target);
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
        Protocol.CheckClaim(messageHeader, target);
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

        // The message is available to every target, so the one that gave it back is asked again.
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

    /// <summary>The end could not begin: nobody else begins it, so it does here.</summary>
    private void FinishFailed(Exception error)
    {
        (_exceptions ??= []).Add(error);
        Finish();
    }

    private void Finish()
    {
        List<LinkNode<T>> nodes = [];
        lock (this)
        {
            HasEnded = true;
            LinkNode<T>? next;
            for (LinkNode<T>? node = Links.Clear(); node is not null; node = next)
            {
                next = node.Next;
                node.Next = null;
                nodes.Add(node);
            }
        }

        foreach (LinkNode<T> node in nodes)
        {
            if (!HasValue)
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
        _listed.End(this);
        End.Complete(_exceptions, HasValue ? CancellationToken.None : Options.Token);
        foreach (LinkNode<T> node in nodes)
        {
            if (node is TargetLink<T> { PropagatesCompletion: true } link)
            {
                Protocol.Propagate(Completion, link.Target);
            }
            else if (!HasValue && node is ReceiveWaiter<T> waiter)
            {
                waiter.SourceEnded();
            }
        }
    }

    private void Offer(ITargetBlock<T> target) => target.OfferMessage(Header, Value!, _owner, consumeToAccept: Clones);
}
