using System.Buffers;
using System.Diagnostics.CodeAnalysis;
using System.Numerics;
using System.Runtime.CompilerServices;
using Weir.Dataflow.Metering;
using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Cores;

/// <summary>The messages that wait for the calls of a block: a queue with one writer and one reader at a time, which work at once and without a lock.</summary>
/// <remarks>
/// <para>
/// <b>Who.</b> The writer is who holds the block's input lock. The reader is the only worker, or with several the one that holds their read lock: see
/// <see cref="ExecCore{T}"/>. Each publishes how far it is, and looks at the other's count only when it has used up what it knew.
/// </para>
/// <para>
/// <b>Order.</b> The writer stores the message and links its segment, whose <c>Base</c> and <c>Next</c> are set before, and then moves <c>_written</c>: a
/// reader that sees the new count also sees both. The reader clears the element and then moves <c>_read</c>: the element is used again only when its whole
/// segment comes back. In another order, the reader would get a message that is not there yet, or a message of the writer would be cleared. A finished segment
/// goes back through <c>_spare</c>, which both sides exchange.
/// </para>
/// </remarks>
internal sealed class InputQueue<T>
{
    private const int FirstLength = 32;

    /// <summary>Long enough that the reader and the writer of a dense stream rarely use the same cache lines.</summary>
    private const int DenseLength = 4096;

    /// <summary>A stream with this many waiting messages is dense.</summary>
    private const int DenseCount = 16;

    // 64 KB, which is a size of the pool.
    private static readonly int MaxLength = Math.Clamp(65_536 / (int)BitOperations.RoundUpToPowerOf2((uint)Unsafe.SizeOf<T>()), FirstLength, 16_384);

    // Of the writer. Any thread reads the count.
    private Padded _written;
    private Segment _writing;

    // Of the reader. Any thread reads its counts.
    private Padded _read;
    private Segment _reading;

    // Atomic.

    /// <summary>A segment that the reader has finished and that the writer uses next.</summary>
    private Segment? _spare;

    // Under the input lock.

    /// <summary>The block's slot among those under way. Here, because a block that is never used needs none.</summary>
    public ListedBlock Listed;

    public InputQueue() => _writing = _reading = NewSegment(FirstLength);

    public bool IsEmpty => Volatile.Read(ref _written.Value) == Volatile.Read(ref _read.Value);

    public long Count => Math.Max(0, Volatile.Read(ref _written.Value) - Volatile.Read(ref _read.Value));

    /// <summary>Measures calls, from when somebody asks for that. Null until then. Set under the input lock.</summary>
    public CallWatch? Watch { get; set; }

    /// <summary>How many messages were added, for any thread.</summary>
    public long WrittenNow => Volatile.Read(ref _written.Value);

    /// <summary>How many were taken, for any thread.</summary>
    public long TakenNow => Volatile.Read(ref _read.Value);

    /// <summary>How many of them were discarded, for any thread.</summary>
    public long DiscardedNow => Volatile.Read(ref _read.Discarded);

    /// <summary>Whether a message is in the call of the only worker. Written by that worker, read by any thread.</summary>
    public bool IsInCall
    {
        get => Volatile.Read(ref _read.IsInCall);
        set => Volatile.Write(ref _read.IsInCall, value);
    }

    /// <summary>How many messages were read; for the reader.</summary>
    public long ReadCount => _read.Value;

    /// <summary>Adds a message, unless there is no memory for it.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public bool TryEnqueue(T item)
    {
        long written = _written.Value;
        Segment segment = _writing;
        T[] items = segment.Items;
        int index = (int)(written - segment.Base);
        if ((uint)index >= (uint)items.Length)
        {
            items = TryNextToWrite(written)!;
            if (items is null)
            {
                return false;
            }

            index = 0;
        }

        items[index] = item;
        Volatile.Write(ref _written.Value, written + 1);
        return true;
    }

    /// <summary>The messages at the reader's position that lie side by side. They are not taken. For the reader.</summary>
    public ReadOnlySpan<T> Peek()
    {
        long read = _read.Value;
        long written = Volatile.Read(ref _written.Value);
        if (read == written)
        {
            return default;
        }

        Segment segment = _reading;
        int index = (int)(read - segment.Base);
        if (index == segment.Items.Length)
        {
            segment = NextToRead(segment);
            index = 0;
        }

        return segment.Items.AsSpan(index, (int)Math.Min(written - read, segment.Items.Length - index));
    }

    /// <summary>Takes the first message that <see cref="Peek"/> returned. For the reader.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Take(ref readonly T item)
    {
        if (RuntimeHelpers.IsReferenceOrContainsReferences<T>())
        {
            Unsafe.AsRef(in item) = default!;
        }

        Volatile.Write(ref _read.Value, _read.Value + 1);
    }

    /// <summary>Takes the first message, for a reader that takes one at a time because others read next.</summary>
    /// <param name="item">The message.</param>
    /// <param name="id">Its number.</param>
    public bool TryTake([MaybeNullWhen(false)] out T item, out long id)
    {
        id = _read.Value;
        if (id >= _read.Known)
        {
            // Read only now, because the writer writes it for every message.
            _read.Known = Volatile.Read(ref _written.Value);
            if (id >= _read.Known)
            {
                item = default;
                return false;
            }
        }

        Segment segment = _reading;
        int index = (int)(id - segment.Base);
        if (index == segment.Items.Length)
        {
            segment = NextToRead(segment);
            index = 0;
        }

        ref T slot = ref segment.Items[index];
        item = slot;
        Take(in slot);
        return true;
    }

    /// <summary>The message that was just taken is discarded. For the reader.</summary>
    public void DiscardTaken() => _read.Discarded++;

    /// <summary>The messages, for threads that are not the reader. For debuggers: does not throw even while other threads read and write.</summary>
    public T[] ToArray()
    {
        List<T> all = [];
        long next = Volatile.Read(ref _read.Value);
        long written = Volatile.Read(ref _written.Value);
        for (Segment? segment = _reading; segment is not null && next < written; segment = segment.Next)
        {
            long begin = segment.Base;
            for (; next < written && next >= begin && next - begin < segment.Items.Length; next++)
            {
                all.Add(segment.Items[next - begin]);
            }
        }

        return [.. all];
    }

    /// <summary>Discards all messages. For the reader.</summary>
    public void Discard()
    {
        while (true)
        {
            ReadOnlySpan<T> items = Peek();
            if (items.IsEmpty)
            {
                return;
            }

            _read.Discarded += items.Length;
            foreach (ref readonly T item in items)
            {
                Take(in item);
            }
        }
    }

    private T[]? TryNextToWrite(long written)
    {
        try
        {
            MemoryPoint.Pass(typeof(InputQueue<T>));
            return NextToWrite(written);
        }
        catch (OutOfMemoryException)
        {
            return null;
        }
    }

    private T[] NextToWrite(long written)
    {
        Segment next = Interlocked.Exchange(ref _spare, null) ?? NewSegment(written);
        next.Base = written;
        next.Next = null;
        _writing.Next = next;
        _writing = next;
        return next.Items;
    }

    private Segment NextToRead(Segment done)
    {
        Segment next = done.Next!;
        _reading = next;
        if (done.Items.Length >= MaxLength)
        {
            // Taken messages were cleared. A second spare segment goes to the pool for other blocks.
            if (Interlocked.Exchange(ref _spare, done) is { } tooMany && tooMany.Items.Length >= MaxLength)
            {
                ArrayPool<T>.Shared.Return(tooMany.Items);
            }
        }
        else if (done.Items.Length == next.Items.Length)
        {
            Volatile.Write(ref _spare, done);
        }

        return next;
    }

    /// <summary>A segment longer than the last one if messages wait, but longer than a few KB only if the reader is a whole segment behind.</summary>
    private Segment NewSegment(long written)
    {
        int length = _writing.Items.Length;
        long waiting = written - Volatile.Read(ref _read.Value);
        return NewSegment(waiting < (length < DenseLength ? DenseCount : length) ? length : Math.Min(MaxLength, length * 2));
    }

    private static Segment NewSegment(int length) => new(length < MaxLength ? new T[length] : ArrayPool<T>.Shared.Rent(MaxLength));

    private sealed class Segment(T[] items)
    {
        public readonly T[] Items = items;

        /// <summary>The number of the first message in it.</summary>
        public long Base;

        public Segment? Next;
    }
}

/// <summary>
/// A queue in a ring that grows, and has no array until the first message. Not thread-safe: its owner has a lock. A struct, so that an idle block is small.
/// </summary>
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

    /// <summary>Makes sure that the next <see cref="TryEnqueue"/> cannot fail.</summary>
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
