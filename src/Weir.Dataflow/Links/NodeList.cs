namespace Weir.Dataflow.Links;

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
