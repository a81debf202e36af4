using System.Diagnostics;
using System.Threading.Tasks.Dataflow;
using Weir.Dataflow.Metering;
using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Links;

/// <summary>Who wants a source's messages, in the order in which they are served: linked targets, and receivers that wait.</summary>
/// <remarks>
/// <para>
/// <b>Protected by</b> the source's lock, all of it, nodes included. Nothing here locks, and nothing calls a target.
/// </para>
/// <para>
/// <b>Walking.</b> A source exits its lock to offer to a target, so the list may have changed when the target answers. Nodes have numbers that grow from the
/// first to the last, so a walk finds its position again even if its own node was removed (<see cref="After"/>). What is added meanwhile may stand before that
/// position: the source looks for it by itself.
/// </para>
/// <para>
/// <b>Twice the same target.</b> A target is in the list once. If it is linked again, a <see cref="PassThrough{T}"/> stands for it, so that each link counts
/// its own messages.
/// </para>
/// </remarks>
internal struct LinkList<T>
{
    private const int SearchLimit = 8;

    private NodeList<LinkNode<T>> _nodes;

    // An int: only links are prepended, and receivers that wait are not.
    private int _lowest;

    /// <summary>Created when there are many links: one is looked for whenever a target is linked, and whenever a message is consumed.</summary>
    private Dictionary<ITargetBlock<T>, TargetLink<T>>? _byTarget;

    public readonly LinkNode<T>? First => _nodes.First;

    /// <summary>How many of the nodes are linked targets.</summary>
    public int Targets { get; private set; }

    /// <summary>The order of the node that was appended last.</summary>
    public long Highest { get; private set; }

    /// <summary>Whether there are links, and the targets of all only note what they are offered.</summary>
    public readonly bool OnlyNote
    {
        get
        {
            LinkNode<T>? node = First;
            while (node is TargetLink<T> { OnlyNotes: true, Next: { } next })
            {
                node = next;
            }

            return node is TargetLink<T> { OnlyNotes: true };
        }
    }

    public void Add(LinkNode<T> node, bool append)
    {
        if (node is TargetLink<T> link)
        {
            Index(link);
            Targets++;
        }

        if (append || First is null)
        {
            node.Order = ++Highest;
            _nodes.Append(node);
        }
        else
        {
            node.Order = --_lowest;
            _nodes.Prepend(node);
        }
    }

    public bool Remove(LinkNode<T> node)
    {
        if (!_nodes.Remove(node))
        {
            return false;
        }

        if (node is TargetLink<T> link)
        {
            Targets--;
            _byTarget?.Remove(link.Target);
        }

        return true;
    }

    /// <summary>The node after this one, which may have been removed meanwhile.</summary>
    public readonly LinkNode<T>? After(LinkNode<T> node)
    {
        if (node.IsListed)
        {
            return node.Next;
        }

        LinkNode<T>? next = First;
        while (next is not null && next.Order <= node.Order)
        {
            next = next.Next;
        }

        return next;
    }

    /// <summary>The link of a target; null if there is none.</summary>
    public readonly TargetLink<T>? Find(ITargetBlock<T> target)
    {
        if (_byTarget is not null)
        {
            return _byTarget.GetValueOrDefault(target);
        }

        for (LinkNode<T>? node = First; node is not null; node = node.Next)
        {
            if (node is TargetLink<T> link && ReferenceEquals(link.Target, target))
            {
                return link;
            }
        }

        return null;
    }

    /// <summary>The linked targets, in their order. For debuggers.</summary>
    public readonly object[] ToArray()
    {
        List<object> targets = [];
        for (LinkNode<T>? node = First; node is not null; node = node.Next)
        {
            if (node is TargetLink<T> link)
            {
                targets.Add(link.Target);
            }
        }

        return [.. targets];
    }

    /// <summary>Empties the list.</summary>
    /// <returns>The first of what was in it, chained by Next.</returns>
    public LinkNode<T>? Clear()
    {
        _byTarget = null;
        Targets = 0;
        return _nodes.Clear();
    }

    private void Index(TargetLink<T> added)
    {
        if (_byTarget is null && Targets >= SearchLimit)
        {
            Dictionary<ITargetBlock<T>, TargetLink<T>> byTarget = new(ReferenceEqualityComparer.Instance);
            for (LinkNode<T>? node = First; node is not null; node = node.Next)
            {
                if (node is TargetLink<T> link)
                {
                    byTarget.Add(link.Target, link);
                }
            }

            _byTarget = byTarget;
        }

        _byTarget?.Add(added.Target, added);
    }
}

/// <summary>An entry of a source's <see cref="LinkList{T}"/>: a linked target, or a receiver that waits.</summary>
internal abstract class LinkNode<T> : ListNode<LinkNode<T>>
{
    /// <summary>A number that grows from the first node to the last.</summary>
    // Not an int: each receiver that waits gets one, and a block may live for long.
    public long Order { get; set; }
}

/// <summary>An entry of a <see cref="NodeList{TNode}"/>.</summary>
internal abstract class ListNode<TNode>
    where TNode : ListNode<TNode>
{
    public TNode? Previous { get; set; }

    public TNode? Next { get; set; }

    public bool IsListed { get; set; }
}

/// <summary>A list that is chained through its own nodes. Not thread-safe.</summary>
internal struct NodeList<TNode>
    where TNode : ListNode<TNode>
{
    private TNode? _last;

    public TNode? First { get; private set; }

    public void Append(TNode node)
    {
        node.IsListed = true;
        node.Previous = _last;
        if (_last is null)
        {
            First = node;
        }
        else
        {
            _last.Next = node;
        }

        _last = node;
    }

    public void Prepend(TNode node)
    {
        if (First is null)
        {
            Append(node);
            return;
        }

        node.IsListed = true;
        node.Next = First;
        First.Previous = node;
        First = node;
    }

    /// <returns>Whether the node was in the list.</returns>
    public bool Remove(TNode node)
    {
        if (!node.IsListed)
        {
            return false;
        }

        if (node.Previous is null)
        {
            First = node.Next;
        }
        else
        {
            node.Previous.Next = node.Next;
        }

        if (node.Next is null)
        {
            _last = node.Previous;
        }
        else
        {
            node.Next.Previous = node.Previous;
        }

        node.Next = node.Previous = null;
        node.IsListed = false;
        return true;
    }

    /// <summary>Empties the list.</summary>
    /// <returns>The first of what was in it, chained by Next.</returns>
    public TNode? Clear()
    {
        TNode? first = First;
        for (TNode? node = first; node is not null; node = node.Next)
        {
            node.IsListed = false;
        }

        First = _last = null;
        return first;
    }
}

/// <summary>A target that was linked by LinkTo.</summary>
internal sealed class TargetLink<T>(ITargetBlock<T> target, DataflowLinkOptions options) : LinkNode<T>
{
    public ITargetBlock<T> Target { get; } = target;

    public bool PropagatesCompletion { get; } = options.PropagateCompletion;

    /// <summary>How many messages the link still passes; negative when there is no limit.</summary>
    public int Remaining { get; private set; } = options.MaxMessages;

    /// <summary>Whether the link was made while the head was being offered to others, and has not been offered it.</summary>
    public bool AwaitsHead { get; set; }

    /// <summary>The target's input side, if messages may be put there without being offered.</summary>
    public DirectTarget<T>? Direct { get; } =
        options.MaxMessages == DataflowBlockOptions.Unbounded && target is ICoreTarget<T> { Core: { AcceptsDirectly: true } core } ? core : null;

    /// <summary>Whether the target only notes what it is offered, so that anybody who holds the offer lock may offer to it.</summary>
    public bool OnlyNotes { get; } = (target as DirectTarget<T> ?? (target as ICoreTarget<T>)?.Core) is { OnlyNotesOffers: true };

    /// <summary>Counts a message that the link has passed.</summary>
    /// <returns>Whether it was the last one that the link passes.</returns>
    public bool CountDown() => Remaining > 0 && --Remaining == 0;
}

/// <summary>What LinkTo returns: disposing of it ends the link, once.</summary>
[DebuggerDisplay("{DebuggerDisplay,nq}")]
internal sealed class Unlinker(object? source, object? target, Action unlink) : IDisposable
{
    public static readonly IDisposable Nothing = new Unlinker(null, null, static () => { });

    private Action? _unlink = unlink;

    private string DebuggerDisplay => _unlink is null || target is null ? "Not linked" : $"Source={source}, Target={target}";

    public void Dispose() => Interlocked.Exchange(ref _unlink, null)?.Invoke();
}

/// <summary>What the overloads of LinkTo add.</summary>
internal static class LinkDefaults
{
    public static readonly DataflowLinkOptions Options = new();

    /// <summary>The target as a link with a predicate sees it.</summary>
    public static ITargetBlock<T> Filter<T>(ISourceBlock<T> source, ITargetBlock<T> target, DataflowLinkOptions linkOptions, Predicate<T> predicate)
    {
        ArgumentNullException.ThrowIfNull(target);
        ArgumentNullException.ThrowIfNull(linkOptions);
        ArgumentNullException.ThrowIfNull(predicate);
        return new PassThrough<T>(source, target, predicate);
    }
}

/// <summary>The input side of a block, as it is for linked sources of this library.</summary>
internal abstract class DirectTarget<T>
{
    /// <summary>Whether sources may put messages here under their own lock, because the block only stores them and calls nobody.</summary>
    public virtual bool AcceptsDirectly => false;

    /// <summary>Whether the block only notes what it is offered, calls nobody, and fetches the message later.</summary>
    public virtual bool OnlyNotesOffers => false;

    public abstract bool IsDeclining { get; }

    public abstract bool IsBounded { get; }

    /// <summary>Accepts a message of a linked source, if there is room for it now.</summary>
    /// <param name="item">The message.</param>
    /// <param name="sourceId">The id under which the source enters the input lock. It does so on one thread at a time.</param>
    /// <param name="after">The work to do once no lock is held, those of the source included.</param>
    public abstract bool TryAcceptDirect(T item, int sourceId, out IAfterLock? after);
}

/// <summary>A block whose input side can be reached by linked sources of this library.</summary>
internal interface ICoreTarget<T>
{
    DirectTarget<T> Core { get; }
}

/// <summary>A block's output side, as it is for targets. The members are those of ISourceBlock.</summary>
internal interface IOfferSource<T>
{
    IDisposable LinkTo(ITargetBlock<T> target, DataflowLinkOptions linkOptions);

    T? Consume(DataflowMessageHeader messageHeader, ITargetBlock<T> target, out bool messageConsumed);

    bool Reserve(DataflowMessageHeader messageHeader, ITargetBlock<T> target);

    void Release(DataflowMessageHeader messageHeader, ITargetBlock<T> target);
}

/// <summary>
/// Stands between a source and a target: for a link with a predicate, or because a source is linked to one target more than once and the target has to tell the
/// links apart.
/// </summary>
[DebuggerDisplay("{DebuggerDisplay,nq}")]
internal sealed class PassThrough<T>(ISourceBlock<T> source, ITargetBlock<T> target, Predicate<T>? predicate) : IPropagatorBlock<T, T>, IStandsForBlock
{
    object IStandsForBlock.Block => target;

    Task IDataflowBlock.Completion => source.Completion;

    private string DebuggerDisplay => ToString();

    DataflowMessageStatus ITargetBlock<T>.OfferMessage(DataflowMessageHeader messageHeader, T messageValue, ISourceBlock<T>? source, bool consumeToAccept)
    {
        Protocol.CheckOffer(messageHeader, source, consumeToAccept);
        return predicate is null || predicate(messageValue)
            ? target.OfferMessage(messageHeader, messageValue, this, consumeToAccept)
            : DataflowMessageStatus.Declined;
    }

    T? ISourceBlock<T>.ConsumeMessage(DataflowMessageHeader messageHeader, ITargetBlock<T> target, out bool messageConsumed) =>
        source.ConsumeMessage(messageHeader, this, out messageConsumed);

    bool ISourceBlock<T>.ReserveMessage(DataflowMessageHeader messageHeader, ITargetBlock<T> target) => source.ReserveMessage(messageHeader, this);

    void ISourceBlock<T>.ReleaseReservation(DataflowMessageHeader messageHeader, ITargetBlock<T> target) => source.ReleaseReservation(messageHeader, this);

    void IDataflowBlock.Complete() => target.Complete();

    void IDataflowBlock.Fault(Exception exception) => target.Fault(exception);

    IDisposable ISourceBlock<T>.LinkTo(ITargetBlock<T> target, DataflowLinkOptions linkOptions) =>
        throw new NotSupportedException("This member is not supported on this dataflow block: it stands for one link.");

    /// <summary>How it appears among the links of the source.</summary>
    public override string ToString() => $"{target}, linked {(predicate is null ? "again" : "with a predicate")}";
}
