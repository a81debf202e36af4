using System.Collections.Concurrent;

namespace Weir.Core.Sources;

/// <summary>A bounded set of keys. The user's comparer runs under no lock, so keys of the same hash are in an immutable list.</summary>
internal sealed class SeenKeys<TKey>(int most, IEqualityComparer<TKey> comparer)
    where TKey : notnull
{
    private readonly ConcurrentDictionary<int, Node> _byHash = [];
    private int _count;

    /// <summary>Adds a key.</summary>
    /// <returns>False if it is there; null if there is no room for it.</returns>
    /// <exception cref="InvalidOperationException">The key is <see langword="null"/>.</exception>
    public bool? TryAdd(TKey key)
    {
        if (key is null)
        {
            throw new InvalidOperationException("The key of an item is null.");
        }

        int hash = comparer.GetHashCode(key);
        Node? compared = null;
        bool counted = false;
        try
        {
            while (true)
            {
                Node? first = _byHash.GetValueOrDefault(hash);
                for (Node? node = first; node != compared; node = node!.Next)
                {
                    if (comparer.Equals(node!.Key, key))
                    {
                        return false;
                    }
                }

                compared = first;
                if (!counted && Interlocked.Increment(ref _count) > most)
                {
                    Interlocked.Decrement(ref _count);
                    return null;
                }

                counted = true;
                Node added = new(key, first);
                if (first is null ? _byHash.TryAdd(hash, added) : _byHash.TryUpdate(hash, added, first))
                {
                    counted = false;
                    return true;
                }
            }
        }
        finally
        {
            if (counted)
            {
                Interlocked.Decrement(ref _count);
            }
        }
    }

    private sealed class Node(TKey key, Node? next)
    {
        public TKey Key => key;

        public Node? Next => next;
    }
}
