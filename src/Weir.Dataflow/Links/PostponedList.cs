using System.Threading.Tasks.Dataflow;

namespace Weir.Dataflow.Links;

/// <summary>What a target has postponed, first come first served. Guarded by the target's lock.</summary>
internal sealed class PostponedList<T>
{
    private const int SearchLimit = 8;

    private NodeList<PostponedNode<T>> _nodes;
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

/// <summary>A message that a full target asked to keep: in a source that offered it, or in somebody's pending send.</summary>
internal abstract class PostponedNode<T> : ListNode<PostponedNode<T>>;

/// <summary>The latest offer of a source. A source has at most one: a later offer replaces it in its place.</summary>
internal sealed class PostponedOffer<T>(ISourceBlock<T> source, DataflowMessageHeader header) : PostponedNode<T>
{
    public ISourceBlock<T> Source { get; } = source;

    public DataflowMessageHeader Header { get; set; } = header;
}
