using System.Buffers;
using System.Diagnostics;

namespace Weir.Core.Sinks;

/// <summary>
/// Results in source order: a ring of slots that starts at the next index to yield. An item without a result fills its slot too, so that it
/// never holds up later results.
/// </summary>
internal sealed class OrderedOutput<TResult>(int limit, int capacity, Func<StreamOutput<TResult>, IRunHandle> start)
    : StreamOutput<TResult>(limit, capacity, start)
{
    // What a slot holds.
    private const byte Empty = 0;
    private const byte Result = 1;
    private const byte Skipped = 2;

    private TResult[] _results = [];
    private byte[] _slots = [];
    private int _mask = -1;
    private long _head;

    protected override bool AddNeedsLock(long index, TResult result)
    {
        int slot = SlotNeedsLock(index);
        _results[slot] = result;
        _slots[slot] = Result;
        return index == _head;
    }

    protected override bool SkipNeedsLock(long index)
    {
        // In two steps: finding the slot may replace the array.
        int slot = SlotNeedsLock(index);
        _slots[slot] = Skipped;
        if (index != _head)
        {
            return false;
        }

        PassSkippedNeedsLock();
        return _slots[(int)(_head & _mask)] == Result;
    }

    protected override int TakeNeedsLock(ref TResult[] buffer)
    {
        int count = 0;
        while (_mask >= 0 && _slots[(int)(_head & _mask)] == Result)
        {
            if (count == buffer.Length)
            {
                buffer = Grow(buffer, count + 1, Window);
            }

            int slot = (int)(_head & _mask);
            buffer[count++] = _results[slot];
            _results[slot] = default!;
            _slots[slot] = Empty;
            _head++;
            PassSkippedNeedsLock();
        }

        return count;
    }

    protected override bool PassGapNeedsLock()
    {
        for (long i = _head; i <= _head + _mask; i++)
        {
            if (_slots[(int)(i & _mask)] == Result)
            {
                for (; _head < i; _head++)
                {
                    _slots[(int)(_head & _mask)] = Empty;
                    ReleaseNeedsLock(1);
                }

                return true;
            }
        }

        return false;
    }

    protected override int TailNeedsLock(RunEnd end, (int Count, Func<long, TResult> Make) missing, ref TResult[] buffer)
    {
        buffer = buffer.Length == 0 ? Grow(buffer, 1, Window) : buffer;
        int count = 0;
        long all = missing.Count < 0 ? end.Claimed : missing.Count;
        while (count < buffer.Length && _head < all && (_mask < 0 || _slots[(int)(_head & _mask)] != Result))
        {
            buffer[count++] = missing.Make(_head++);
        }

        return count;
    }

    protected override void DropNeedsLock()
    {
        ReturnBuffer(_results);
        ReturnBuffer(_slots);
        _results = [];
        _slots = [];
        _mask = -1;
    }

    protected override void AddLeftNeedsLock(UnusedResults<TResult> to, ref HashSet<object>? unused)
    {
        for (long i = _head; i <= _head + _mask; i++)
        {
            if (_slots[(int)(i & _mask)] == Result)
            {
                to.Add(ref unused, _results.AsSpan((int)(i & _mask), 1));
            }
        }
    }

    private void PassSkippedNeedsLock()
    {
        while (_slots[(int)(_head & _mask)] == Skipped)
        {
            _slots[(int)(_head & _mask)] = Empty;
            _head++;
            ReleaseNeedsLock(1);
        }
    }

    private int SlotNeedsLock(long index)
    {
        Debug.Assert(index >= _head, "No item ends twice.");
        if (index - _head > _mask)
        {
            EnlargeNeedsLock((int)(index - _head) + 1);
        }

        int slot = (int)(index & _mask);
        Debug.Assert(_slots[slot] == Empty, "The window keeps items that share a slot apart.");
        return slot;
    }

    private void EnlargeNeedsLock(int length)
    {
        int size = 16;
        while (size < length)
        {
            size *= 2;
        }

        TResult[] results = ArrayPool<TResult>.Shared.Rent(size);
        byte[] slots = ArrayPool<byte>.Shared.Rent(size);
        Array.Clear(slots);
        for (long i = _head; i <= _head + _mask; i++)
        {
            results[(int)(i & (size - 1))] = _results[(int)(i & _mask)];
            slots[(int)(i & (size - 1))] = _slots[(int)(i & _mask)];
        }

        ReturnBuffer(_results);
        ReturnBuffer(_slots);
        _results = results;
        _slots = slots;
        _mask = size - 1;
    }
}
