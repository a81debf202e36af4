using System.Runtime.CompilerServices;
using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Cores;

/// <summary>A queue in a growing ring, which has no array until the first message. Not thread-safe. A struct, so that an idle block is small.</summary>
internal struct MessageQueue<T>
{
    private const int FirstLength = 4;

    private T[]? _items;
    private int _head;
    private int _count;

    public readonly int Count => _count;

    /// <summary>Adds a message, unless there is no memory for it.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public bool TryEnqueue(T item)
    {
        T[]? items = _items;
        int count = _count;
        if (items is null || count == items.Length)
        {
            if (!TryGrow())
            {
                return false;
            }

            items = _items!;
        }

        items[(_head + count) & (items.Length - 1)] = item;
        _count = count + 1;
        return true;
    }

    /// <summary>Makes room for one more, so that <see cref="TryEnqueue"/> cannot fail.</summary>
    public bool TryReserve() => (_items is { } items && _count < items.Length) || TryGrow();

    public readonly T Peek() => _items![_head];

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public T Dequeue()
    {
        T[] items = _items!;
        int head = _head;
        T item = items[head];
        if (RuntimeHelpers.IsReferenceOrContainsReferences<T>())
        {
            items[head] = default!;
        }

        _head = (head + 1) & (items.Length - 1);
        _count--;
        return item;
    }

    public void Clear() => this = default;

    public List<T> TakeAll()
    {
        List<T> all = new(Count);
        while (Count > 0)
        {
            all.Add(Dequeue());
        }

        return all;
    }

    /// <summary>The messages. For debuggers: does not throw even while another thread changes the queue.</summary>
    public readonly T[] ToArray()
    {
        T[]? items = _items;
        int head = _head;
        T[] all = new T[items is null ? 0 : Math.Clamp(Count, 0, items.Length)];
        for (int i = 0; i < all.Length; i++)
        {
            all[i] = items![(head + i) & (items.Length - 1)];
        }

        return all;
    }

    private bool TryGrow()
    {
        try
        {
            MemoryPoint.Pass(typeof(MessageQueue<T>));
            T[] grown = new T[_items is null ? FirstLength : checked(_items.Length * 2)];
            for (int i = 0; i < Count; i++)
            {
                grown[i] = _items![(_head + i) & (_items.Length - 1)];
            }

            _items = grown;
            _head = 0;
            return true;
        }
        catch (Exception e) when (e is OutOfMemoryException or OverflowException)
        {
            return false;
        }
    }
}
