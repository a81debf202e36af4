using System.Runtime.InteropServices;

namespace Weir.Core.Sources;

/// <summary>
/// Items with consecutive indices that one worker has claimed. The items are in an array, in a list (both the
/// caller's own, not copied), or are one single item.
/// </summary>
[StructLayout(LayoutKind.Auto)]
internal struct Chunk<T>
{
    private object? _store;
    private T? _single;
    private int _offset;

    /// <summary>How many of the items have run; the next one to run is at this position.</summary>
    public int Position;

    /// <summary>How many items the chunk has.</summary>
    public int Count;

    /// <summary>The index in the source of the item at position 0.</summary>
    public long FirstIndex;

    /// <summary>The data of a single item that comes back for another attempt; null for items that come for the first time.</summary>
    public Repetition? Repetition;

    public readonly bool IsEmpty => Position >= Count;

    public readonly int Remaining => Count - Position;

    /// <summary>The array of the chunk, if it is in one. The source gets it back for reuse.</summary>
    public readonly T[]? Array => _store as T[];

    public void SetArray(T[] array, int offset, int count, long firstIndex)
    {
        _store = array;
        Set(offset, count, firstIndex);
    }

    public void SetList(List<T> list, int offset, int count)
    {
        _store = list;
        Set(offset, count, offset);
    }

    public void SetSingle(T item, long index, Repetition? repetition = null)
    {
        _store = null;
        _single = item;
        Set(0, 1, index);
        Repetition = repetition;
    }

    /// <summary>
    /// All items of the chunk, including those that have run. Valid only while the caller's list does not change, so not across a suspension.
    /// </summary>
    [System.Diagnostics.CodeAnalysis.UnscopedRef]
    public readonly ReadOnlySpan<T> Items
    {
        get
        {
            object? store = _store;
            if (store is null)
            {
                return new ReadOnlySpan<T>(in _single!);
            }

            if (store.GetType() == typeof(List<T>))
            {
                return ListItems((List<T>)store);
            }

            // A reference array may be a covariant one (string[] as object[]), which only a read-only span accepts.
            return new ReadOnlySpan<T>(System.Runtime.CompilerServices.Unsafe.As<T[]>(store), _offset, Count);
        }
    }

    /// <summary>Moves the items from a position on into a new chunk, which then owns the array. This chunk is then finished.</summary>
    public Chunk<T> TakeRest(int from)
    {
        Chunk<T> rest = this;
        rest._offset += from;
        rest.FirstIndex += from;
        rest.Count -= from;
        rest.Position = 0;
        Clear();
        return rest;
    }

    /// <summary>Forgets the items, so that a waiting worker keeps none of them alive.</summary>
    public void Clear()
    {
        _store = null;
        _single = default;
        Repetition = null;
        Position = 0;
        Count = 0;
    }

    private void Set(int offset, int count, long firstIndex)
    {
        _offset = offset;
        Repetition = null;
        Position = 0;
        Count = count;
        FirstIndex = firstIndex;
    }

    private readonly ReadOnlySpan<T> ListItems(List<T> list)
    {
        ReadOnlySpan<T> all = CollectionsMarshal.AsSpan(list);
        return all.Length >= _offset + Count
            ? all.Slice(_offset, Count)
            : throw new InvalidOperationException("The source list was changed while the run was reading it.");
    }
}
