using System.Threading.Tasks.Dataflow;

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
