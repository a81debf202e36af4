using System.Diagnostics.CodeAnalysis;
using System.Numerics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using Weir.Dataflow.Sync;
using Weir.Core.Threads;

namespace Weir.Dataflow.Cores;

/// <summary>A queue in a growing ring, which has no array until the first item. Not thread-safe.</summary>
internal struct RingQueue<T>
{
    private const int FirstLength = 4;
    private const int FirstOfPool = 256;

    private T[]? _items;
    private int _head;
    private int _count;

    public readonly int Count => _count;

    /// <summary>Adds an item, unless there is no memory for it.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public bool TryEnqueue(T item)
    {
        T[]? items = _items;
        if (items is null || _count == items.Length)
        {
            items = TryGrow();
            if (items is null)
            {
                return false;
            }
        }

        items[(_head + _count) & (items.Length - 1)] = item;
        _count++;
        return true;
    }

    /// <summary>Makes room for one more, so that <see cref="TryEnqueue"/> cannot fail.</summary>
    public bool TryReserve() => (_items is not null && _count < _items.Length) || TryGrow() is not null;

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

    /// <summary>Takes back what was enqueued last.</summary>
    public void RemoveLast()
    {
        _count--;
        _items![(_head + _count) & (_items.Length - 1)] = default!;
    }

    public bool TryDequeue([MaybeNullWhen(false)] out T item)
    {
        if (_count == 0)
        {
            item = default;
            return false;
        }

        item = Dequeue();
        return true;
    }

    public void Clear()
    {
        if (_items is not null)
        {
            Return(_items);
        }

        _items = null;
        _head = 0;
        _count = 0;
    }

    public List<T> TakeAll()
    {
        List<T> all = new(_count);
        CollectionsMarshal.SetCount(all, _count);
        foreach (ref T item in CollectionsMarshal.AsSpan(all))
        {
            item = Dequeue();
        }

        return all;
    }

    /// <summary>The items. For debuggers: does not throw even while another thread changes the queue.</summary>
    public readonly T[] ToArray()
    {
        T[]? items = _items;
        int head = _head;
        T[] all = new T[items is null ? 0 : Math.Clamp(_count, 0, items.Length)];
        for (int i = 0; i < all.Length; i++)
        {
            all[i] = items![(head + i) & (items.Length - 1)];
        }

        return all;
    }

    // The pool's arrays have lengths that are powers of two, as the ring needs; otherwise the array is not from one of its buckets.
    private static T[] New(int length)
    {
        if (length < FirstOfPool)
        {
            return new T[length];
        }

        T[] rented = PooledArrays.Rent<T>(length);
        return BitOperations.IsPow2(rented.Length) ? rented : new T[length];
    }

    private static void Return(T[] items)
    {
        if (items.Length >= FirstOfPool)
        {
            PooledArrays.Return(items);
        }
    }

    private T[]? TryGrow()
    {
        try
        {
            Steps.Pass(Step.Allocates, typeof(RingQueue<T>));
            return Grow();
        }
        catch (Exception e) when (e is OutOfMemoryException or OverflowException)
        {
            return null;
        }
    }

    private T[] Grow()
    {
        if (_items is null)
        {
            return _items = new T[FirstLength];
        }

        T[] grown = New(checked(_items.Length * 2));
        int first = Math.Min(_count, _items.Length - _head);
        Array.Copy(_items, _head, grown, 0, first);
        Array.Copy(_items, 0, grown, first, _count - first);
        Return(_items);
        _head = 0;
        return _items = grown;
    }
}
