namespace Weir.Core.Sources;

/// <summary>The items of a batch that is being read.</summary>
internal struct BatchBuffer<T>(int batchSize)
{
    private T[] _items = [];
    private int _count;
    private int _expected;

    public readonly bool IsFull => _count >= batchSize;

    /// <summary>How many items there are. May be read by any thread.</summary>
    public int Count => Volatile.Read(ref _count);

    public void Add(T item)
    {
        if (_count == _items.Length)
        {
            // As long as the previous batch, and then doubling: a batch size may be far larger than any batch that ever comes.
            Array.Resize(ref _items, (int)Math.Min(batchSize, Math.Max(Math.Max(4, _expected), 2L * _count)));
        }

        _items[_count] = item;
        Volatile.Write(ref _count, _count + 1);
    }

    /// <summary>Takes the items out.</summary>
    public T[] Take()
    {
        // A full batch goes out as it is.
        T[] batch = _count == _items.Length ? _items : _items[.._count];
        _expected = _count;
        _items = [];
        Volatile.Write(ref _count, 0);
        return batch;
    }
}
