using System.Threading.Tasks.Dataflow;

namespace Weir.Dataflow.Links;

/// <summary>Who wants a source's messages, in the order in which they are asked. Guarded by the source's lock.</summary>
internal struct LinkList<T>
{
    private const int SearchLimit = 8;

    private LinkNode<T>? _last;
    private int _highest;
    private int _lowest;

    /// <summary>Made when there are many, of which one is looked for at each link and each message that is consumed.</summary>
    private Dictionary<ITargetBlock<T>, TargetLink<T>>? _byTarget;

    public LinkNode<T>? First { get; private set; }

    /// <summary>How many of the nodes are linked targets.</summary>
    public int Targets { get; private set; }

    /// <summary>The order of the node that was appended last.</summary>
    public readonly int Highest => _highest;

    public void Add(LinkNode<T> node, bool append)
    {
        if (node is TargetLink<T> link)
        {
            Index(link);
        }

        node.IsLinked = true;
        Targets += node is TargetLink<T> ? 1 : 0;
        if (First is null)
        {
            node.Order = ++_highest;
            First = _last = node;
        }
        else if (append)
        {
            node.Order = ++_highest;
            node.Previous = _last;
            _last!.Next = node;
            _last = node;
        }
        else
        {
            node.Order = --_lowest;
            node.Next = First;
            First.Previous = node;
            First = node;
        }
    }

    public bool Remove(LinkNode<T> node)
    {
        if (!node.IsLinked)
        {
            return false;
        }

        node.IsLinked = false;
        if (node is TargetLink<T> link)
        {
            Targets--;
            _byTarget?.Remove(link.Target);
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
        return true;
    }

    /// <summary>The node after this one, which may have been removed in the meantime.</summary>
    public readonly LinkNode<T>? After(LinkNode<T> node)
    {
        if (node.IsLinked)
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
        LinkNode<T>? first = First;
        for (LinkNode<T>? node = first; node is not null; node = node.Next)
        {
            node.IsLinked = false;
        }

        First = _last = null;
        _byTarget = null;
        Targets = 0;
        return first;
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
