using System.Threading.Tasks.Dataflow;

namespace Weir.Dataflow.Links;

/// <summary>What a target has postponed, first come first served. Guarded by the target's lock.</summary>
internal sealed class PostponedList<T>
{
    private const int SearchLimit = 8;

    private PostponedNode<T>? _last;
    private Dictionary<ISourceBlock<T>, PostponedOffer<T>>? _bySource;

    public PostponedNode<T>? First { get; private set; }

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
        Count++;
    }

    public bool Remove(PostponedNode<T> node)
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

        node.Previous = node.Next = null;
        node.IsListed = false;
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
