namespace Weir.Core.Sources;

/// <summary>
/// The items of a source that were given back, for any worker to claim. First those that have waited, the one that has waited longest before the others, in
/// whatever order they came back: several threads may bring them. Then those that have not begun, in the order in which they came back.
/// </summary>
/// <remarks>Guarded by itself, apart from <see cref="HasNew"/>.</remarks>
internal sealed class GivenBack<T>
{
    // A ring.
    private Chunk<T>[] _new = [];
    private int _first;
    private int _count;

    // Created by the first item that has waited.
    private PriorityQueue<Chunk<T>, (long Since, long Index)>? _waited;

    /// <summary>Whether there are items that have not begun.</summary>
    public bool HasNew => Volatile.Read(ref _count) > 0;

    /// <summary>Whether there are items that have waited.</summary>
    public bool HasWaited => _waited is { Count: > 0 };

    /// <summary>All chunks, in no order.</summary>
    public IEnumerable<Chunk<T>> All => (_waited?.UnorderedItems.Select(static waited => waited.Element) ?? []).Concat(New);

    private IEnumerable<Chunk<T>> New => Enumerable.Range(0, _count).Select(position => At(position));

    public void Add(in Chunk<T> chunk)
    {
        if (chunk.Repetition is { } repetition)
        {
            (_waited ??= new()).Enqueue(chunk, (repetition.First, chunk.FirstIndex));
            return;
        }

        if (_count == _new.Length)
        {
            Chunk<T>[] more = new Chunk<T>[Math.Max(4, 2 * _count)];
            int toEnd = _count - _first;
            Array.Copy(_new, _first, more, 0, toEnd);
            Array.Copy(_new, 0, more, toEnd, _first);
            (_new, _first) = (more, 0);
        }

        _new[(_first + _count) & (_new.Length - 1)] = chunk;
        _count++;
    }

    /// <summary>Takes the next item alone: those that were given back have a neighbour that takes long.</summary>
    /// <param name="chunk">The item.</param>
    /// <param name="newToo">Whether also one that has not begun.</param>
    /// <returns>False if there is none.</returns>
    /// <exception cref="InvalidOperationException">The caller's list was changed. The item stays.</exception>
    public bool TryTake(ref Chunk<T> chunk, bool newToo)
    {
        if (_waited is { Count: > 0 } waited)
        {
            chunk = waited.Dequeue();
            return true;
        }

        if (!newToo || _count == 0)
        {
            return false;
        }

        ref Chunk<T> first = ref _new[_first];
        chunk.SetSingle(first.Items[0], first.FirstIndex);
        if (first.Count > 1)
        {
            first = first.TakeRest(1);
        }
        else
        {
            first = default;
            _first = (_first + 1) & (_new.Length - 1);
            _count--;
        }

        return true;
    }

    /// <summary>Puts the items that have not begun in the order of the source.</summary>
    public void SortNew()
    {
        Chunk<T>[] all = [.. New.OrderBy(static chunk => chunk.FirstIndex)];
        for (int i = 0; i < all.Length; i++)
        {
            At(i) = all[i];
        }
    }

    /// <summary>Removes the items that were attempted.</summary>
    /// <returns>Their indices.</returns>
    public List<long> TakeAttempted()
    {
        List<long> attempted = [];
        if (_waited is { } waited)
        {
            Chunk<T>[] all = [.. waited.UnorderedItems.Select(static item => item.Element)];
            waited.Clear();
            foreach (Chunk<T> chunk in all)
            {
                if (chunk.Repetition!.Attempts > 0)
                {
                    attempted.Add(chunk.FirstIndex);
                }
                else
                {
                    Add(chunk);
                }
            }
        }

        return attempted;
    }

    private ref Chunk<T> At(int position) => ref _new[(_first + position) & (_new.Length - 1)];
}
