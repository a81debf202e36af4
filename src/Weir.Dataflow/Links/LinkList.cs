using System.Diagnostics;
using System.Threading.Tasks.Dataflow;
using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Links;

/// <summary>Who wants a source's messages, in the order in which they are asked. Guarded by the source's lock.</summary>
internal struct LinkList<T>
{
    private const int SearchLimit = 8;

    private NodeList<LinkNode<T>> _nodes;

    // An int: only links count here, and not those who wait for a message.
    private int _lowest;

    /// <summary>Made when there are many, of which one is looked for at each link and each message that is consumed.</summary>
    private Dictionary<ITargetBlock<T>, TargetLink<T>>? _byTarget;

    public readonly LinkNode<T>? First => _nodes.First;

    /// <summary>How many of the nodes are linked targets.</summary>
    public int Targets { get; private set; }

    /// <summary>The order of the node that was appended last.</summary>
    public long Highest { get; private set; }

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

    /// <summary>The node after this one, which may have been removed in the meantime.</summary>
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

    /// <summary>The link of a target. A target is in the list once.</summary>
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

/// <summary>One entry in a source's list of those who want its messages: a linked target, or somebody who waits for one message.</summary>
internal abstract class LinkNode<T> : ListNode<LinkNode<T>>
{
    /// <summary>Grows from the first to the last node, so that a walk through the list finds its position again when its node was removed.</summary>
    // Not an int: each call that waits for a message counts, and a block may live for long.
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

/// <summary>A target that was linked with LinkTo.</summary>
internal sealed class TargetLink<T>(ITargetBlock<T> target, DataflowLinkOptions options) : LinkNode<T>
{
    public ITargetBlock<T> Target { get; } = target;

    public bool PropagatesCompletion { get; } = options.PropagateCompletion;

    /// <summary>How many messages the link still passes; negative when there is no limit.</summary>
    public int Remaining { get; private set; } = options.MaxMessages;

    /// <summary>Whether the link was made while the head was being offered to others, and has not been asked itself.</summary>
    public bool AwaitsHead { get; set; }

    /// <summary>The input side of the target, when messages may be put there without the whole protocol.</summary>
    public DirectTarget<T>? Direct { get; } =
        options.MaxMessages == DataflowBlockOptions.Unbounded && target is ICoreTarget<T> { Core: { AcceptsDirectly: true } core } ? core : null;

    /// <summary>Counts one message.</summary>
    /// <returns>Whether it was the last one that the link was made for.</returns>
    public bool CountDown() => Remaining > 0 && --Remaining == 0;
}

/// <summary>What LinkTo returns.</summary>
[DebuggerDisplay("{DebuggerDisplay,nq}")]
internal sealed class Unlinker(object? source, object? target, Action unlink) : IDisposable
{
    public static readonly IDisposable Nothing = new Unlinker(null, null, static () => { });

    private Action? _unlink = unlink;

    private string DebuggerDisplay => _unlink is null || target is null ? "Not linked" : $"Source={source}, Target={target}";

    public void Dispose() => Interlocked.Exchange(ref _unlink, null)?.Invoke();
}

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

/// <summary>The input side of a block, as sources of this library see it that are linked to it.</summary>
internal abstract class DirectTarget<T>
{
    /// <summary>
    /// Whether sources of this library may put messages here under their lock: the block then only stores them, and calls nobody.
    /// </summary>
    public virtual bool AcceptsDirectly => false;

    public abstract bool IsDeclining { get; }

    public abstract bool IsBounded { get; }

    /// <summary>Takes a message from a linked source of this library, if there is room for it now.</summary>
    /// <param name="item">The message.</param>
    /// <param name="sourceId">The source's id, under which it is at work only once at a time.</param>
    /// <param name="after">What has to be done once the source's locks are left, too.</param>
    public abstract bool TryAcceptDirect(T item, int sourceId, out IAfterLock? after);
}

/// <summary>A block of this library, as another one sees it that is linked to it.</summary>
internal interface ICoreTarget<T>
{
    DirectTarget<T> Core { get; }
}

/// <summary>A block's output side, as targets see it.</summary>
internal interface IOfferSource<T>
{
    IDisposable LinkTo(ITargetBlock<T> target, DataflowLinkOptions linkOptions);

    T? Consume(DataflowMessageHeader messageHeader, ITargetBlock<T> target, out bool messageConsumed);

    bool Reserve(DataflowMessageHeader messageHeader, ITargetBlock<T> target);

    void Release(DataflowMessageHeader messageHeader, ITargetBlock<T> target);
}
