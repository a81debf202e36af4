using System.Threading.Tasks.Dataflow;

namespace Weir.Dataflow.Links;

/// <summary>Who waits for room in a target, first come first served: sources whose offers were postponed, and senders. Under the target's input lock.</summary>
internal sealed class PostponedList<T>
{
    private const int SearchLimit = 8;

    private NodeList<PostponedNode<T>> _nodes;

    /// <summary>Created when there are many, because each offer looks for an earlier one of its source.</summary>
    private Dictionary<ISourceBlock<T>, PostponedOffer<T>>? _bySource;

    public PostponedNode<T>? First => _nodes.First;

    public int Count { get; private set; }

    public void Add(ISourceBlock<T> source, DataflowMessageHeader header)
    {
        PostponedOffer<T>? offer = Find(source);
        if (offer is not null)
        {
            offer.Header = header;
            return;
        }

        offer = new PostponedOffer<T>(source, header);
        Add(offer);
        if (_bySource is not null)
        {
            _bySource.Add(source, offer);
        }
        else if (Count > SearchLimit)
        {
            _bySource = new Dictionary<ISourceBlock<T>, PostponedOffer<T>>(ReferenceEqualityComparer.Instance);
            for (PostponedNode<T>? node = First; node is not null; node = node.Next)
            {
                if (node is PostponedOffer<T> known)
                {
                    _bySource.Add(known.Source, known);
                }
            }
        }
    }

    public void Add(PostponedNode<T> node)
    {
        _nodes.Append(node);
        Count++;
    }

    public bool Remove(PostponedNode<T> node)
    {
        if (!_nodes.Remove(node))
        {
            return false;
        }

        Count--;
        if (_bySource is not null && node is PostponedOffer<T> offer)
        {
            _bySource.Remove(offer.Source);
        }

        return true;
    }

    public PostponedNode<T>? RemoveFirst()
    {
        PostponedNode<T>? node = First;
        if (node is not null)
        {
            Remove(node);
        }

        return node;
    }

    private PostponedOffer<T>? Find(ISourceBlock<T> source)
    {
        if (_bySource is not null)
        {
            return _bySource.GetValueOrDefault(source);
        }

        for (PostponedNode<T>? node = First; node is not null; node = node.Next)
        {
            if (node is PostponedOffer<T> offer && ReferenceEquals(offer.Source, source))
            {
                return offer;
            }
        }

        return null;
    }
}

/// <summary>An entry of a target's <see cref="PostponedList{T}"/>: a message that waits in its source, or with its sender.</summary>
internal abstract class PostponedNode<T> : ListNode<PostponedNode<T>>;

/// <summary>The latest offer of a source. A later one of the same source replaces its header, and waits at its position.</summary>
internal sealed class PostponedOffer<T>(ISourceBlock<T> source, DataflowMessageHeader header) : PostponedNode<T>
{
    public ISourceBlock<T> Source { get; } = source;

    public DataflowMessageHeader Header { get; set; } = header;
}
