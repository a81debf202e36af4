using System.Buffers;
using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using System.Numerics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading.Tasks.Sources;

namespace Weir.Core.Sinks;

// The way from the workers of a stream to its one consumer: chunks of results.
//
// - A chunk is an array of slots. Whoever has a result stores it in a slot that is its own, and then says by a volatile write that it is there. The consumer
//   counts what is there, and takes it without a lock (Count, Take). So it gets what there is of a chunk whose next item takes long.
// - In source order, a chunk has the slots of 16 to 256 consecutive indices, and each slot says whether its result is there. A table finds the chunk of an index
//   (_table), without a lock; chunks are made under it. The consumer passes the slots of items without a result.
// - Without order, a worker that runs several items at once fills a chunk of its own (Open), until the chunk is full or the worker does something else (Close).
//   The chunk's count says what is there. Open chunks stand in a list, closed ones in a queue. A result that comes alone, after a suspension, goes to the last
//   chunk of the queue, under the lock.
// - The bound. A stream bounds the claims, not the writes: no item at or beyond consumed + MaxDegreeOfParallelism + ChannelCapacity starts (Ceiling). So a
//   worker with a result never waits for room, and in source order no two items that are out share a slot.
// - Who wakes the consumer. When the consumer finds nothing, it notes under the lock that it waits, and for which index. Then it looks once more: a result
//   that was stored before its worker could see the note must be seen here. A worker only stores and then reads the note. A fence for each item would cost
//   more than the rest, so the consumer makes one for all threads (Interlocked.MemoryBarrierProcessWide), unless no worker has an open chunk: single results are
//   stored with a fence, or under the lock. A worker that sees the note looks under the lock on the consumer's behalf (WakeIfFound). So a woken consumer always
//   finds something, and it is woken once.
// - Who wakes the run. The consumer raises the ceiling by what it has yielded, after some results at a time, and before it waits (Publish). Then it tells the
//   run, which may have a worker that left because it was at the ceiling (IRunHandle.Release).
// - Who waits on its thread. To wake a thread costs as much as thousands of tiny items. So a consumer that finds little while a worker stores results looks again
//   some microseconds later, and a worker at the ceiling waits as long for room (WaitForRoom). Whoever did so for nothing does it less often (Patience).
// - The end. The run leaves its end (Complete), when nobody stores any more. The consumer gets the results that are left, then the end. One that leaves earlier
//   stops the run, and waits for its end before it drops the chunks (DisposeAsync). A worker that was given up may come back later than that. It stores
//   nothing, and its chunk is no longer anybody's.

/// <summary>One result of a stream, and whether it is there.</summary>
internal struct ResultSlot<TResult>
{
    public const int Empty = 0;
    public const int Filled = 1;

    /// <summary>The item has no result, and nobody waits for it.</summary>
    public const int Skipped = 2;

    public TResult Value;

    /// <summary>Written after the value, by who stores it; emptied by the consumer.</summary>
    public int State;
}

/// <summary>
/// Whether to wait some microseconds on the thread before leaving it: what comes next often comes at once while items are tiny, and a thread costs tens of
/// microseconds to wake. Whoever waited for nothing does so less often, up to every 64th time.
/// </summary>
internal struct Patience
{
    // Bytes, because each worker has one.
    private byte _misses;
    private byte _skip;

    public bool TryUse()
    {
        if (_skip == 0)
        {
            return true;
        }

        _skip--;
        return false;
    }

    public void Waited(bool found)
    {
        _misses = (byte)(found ? 0 : Math.Min(_misses + 1, 6));
        _skip = (byte)(found ? 0 : (1 << _misses) - 1);
    }
}

/// <summary>What the consumer waits for. Alone on its cache lines: workers read it after each result, and the consumer writes all the time beside it.</summary>
internal sealed class ConsumerNote
{
    public const long NotWaiting = -1;

    /// <summary>The consumer waits for any result.</summary>
    public const long ForAny = long.MaxValue;

    private PaddedNumber _waitsFor = new() { Value = NotWaiting };

    /// <summary>The index that the consumer waits for, or one of the constants. Written under the lock of the stream, read by workers without it.</summary>
    public long WaitsFor
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => Volatile.Read(ref _waitsFor.Value);
        set => Volatile.Write(ref _waitsFor.Value, value);
    }
}

/// <summary>A number alone on its cache lines: a thread that writes it for each item takes none from a thread that reads what is beside it.</summary>
[StructLayout(LayoutKind.Explicit, Size = 192)]
internal struct PaddedNumber
{
    [FieldOffset(64)]
    public long Value;
}

/// <summary>A chunk of results. The consumer writes nothing here while it takes them, because the worker uses these fields for each result.</summary>
/// <param name="output">The stream.</param>
/// <param name="slots">The slots. It may be longer than a chunk is.</param>
/// <param name="mask">In source order, the length of a chunk less one, and otherwise 0.</param>
internal sealed class ResultChunk<TResult>(StreamOutput<TResult> output, ResultSlot<TResult>[] slots, int mask) : ResultChunk
{
    // Immutable.
    public readonly ResultSlot<TResult>[] Slots = slots;
    private readonly ConsumerNote _note = output.Note;

    // Of the worker that fills it, or under the lock for one of single results: how many slots were filled. Final once it is closed.
    private int _count;

    // Under the lock.

    /// <summary>How many slots the consumer had passed when it turned to another chunk.</summary>
    public int Taken;

    /// <summary>In source order, the index of its first slot.</summary>
    public long First;

    /// <summary>The number of chunks that were begun before it.</summary>
    public long Began;

    /// <summary>The next chunk of the queue, or of those that are not used.</summary>
    public ResultChunk<TResult>? Next;

    /// <summary>Whether no more comes. The consumer reads it without the lock too, as a hint.</summary>
    public volatile bool IsClosed;

    public int Count
    {
        get => Volatile.Read(ref _count);
        set => Volatile.Write(ref _count, value);
    }

    /// <summary>Stores a result. For items of the last call of <see cref="StreamOutput{TResult}.Open"/> only, in their order.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Store(long index, TResult result)
    {
        if (mask != 0)
        {
            ref ResultSlot<TResult> slot = ref Slots[(int)index & mask];
            slot.Value = result;
            Volatile.Write(ref slot.State, ResultSlot<TResult>.Filled);
        }
        else
        {
            Slots[_count].Value = result;
            Volatile.Write(ref _count, _count + 1);
        }

        if (_note.WaitsFor >= index)
        {
            output.Stored(index);
        }
    }
}

/// <summary>
/// The chunks between the workers of a stream and its one consumer. At most <c>limit + capacity</c> items are anywhere between the source and the
/// consumer, because no item at or beyond <see cref="Ceiling"/> starts. So a worker with a result never has to wait for room.
/// </summary>
[SuppressMessage("Reliability", "CA2012:Use ValueTasks correctly", Justification = "Made here and handed on or consumed once.")]
internal sealed class StreamOutput<TResult> : IAsyncEnumerator<TResult>, IValueTaskSource<bool>
{
    /// <summary>How many results are enough to take them while a worker is storing more.</summary>
    private const int Enough = 16;

    /// <summary>
    /// Where nothing starts before the consumer asks, how many items may start when it does: as many as were done within 5 us the last time, and as many again.
    /// </summary>
    private const int MostAtOnce = 64;
    private static readonly long Quick = Stopwatch.Frequency / 200_000;

    // Immutable.
    private readonly Lock _lock = new();
    private readonly bool _ordered;
    private readonly int _size;
    private readonly int _publishEvery;
    private readonly bool _startsWhenAsked;
    private readonly TaskCompletionSource _ended = new(TaskCreationOptions.RunContinuationsAsynchronously);

    // Of the consumer, or of the worker that looks on its behalf, under the lock, while it waits.
    private IRunHandle? _run;
    private Func<StreamOutput<TResult>, IRunHandle>? _start;
    private ResultChunk<TResult>? _current;
    private long _base;

    // Likewise: the slots of the current chunk, and from which to which of them there are results. The consumer takes no more than it has counted once: going from
    // one to the next as they come, it would take the cache line of each from the worker that writes it.
    private ResultSlot<TResult>[] _slots = [];
    private int _at;
    private int _until;

    private IEnumerator<long>? _tail;
    private long _took;

    // Where nothing starts before the consumer asks: its thread while it does, and whether an item has ended on another one. From then on, they run one by one.
    private volatile int _asking;
    private volatile bool _ranElsewhere;
    private Patience _patience;
    private bool _hasReportedEnd;

    // Of the consumer: how many results the run does not know of that were yielded. For statistics, others read it.
    private int _unpublished;

    // Written by the consumer, and read by the end of the run: who sees it late makes outcomes that nobody gets.
    private bool _disposed;

    // Atomic. They only grow, so who sees an older value of them claims less. Where nothing starts before the consumer asks, the window is the consumer's.
    private long _consumed;
    private long _window;

    // In source order. Changed under the lock; workers find chunks in it without: an entry counts only if its chunk has the right first index.
    private ResultChunk<TResult>?[] _table = [];

    // How many workers have an open chunk. Atomic.
    private int _writers;

    // Under the lock.
    private readonly List<ResultChunk<TResult>> _open = [];
    private ResultChunk<TResult>? _first;
    private ResultChunk<TResult>? _last;
    private long _begun;
    private ResultChunk<TResult>? _unused;
    private int _unusedCount;
    private bool _isDropped;
    private Ending? _end;

    // Set by the one thread that has taken the note that the consumer waits; reset by the consumer, before it waits again.
    private ManualResetValueTaskSourceCore<bool> _signal = new() { RunContinuationsAsynchronously = true };

    /// <summary>Creates the output of one run.</summary>
    /// <param name="ordered">Whether results come in the order of the source.</param>
    /// <param name="limit">How many items are in flight at once.</param>
    /// <param name="capacity">
    /// How many results may be ready for the consumer. If none, no item starts before the consumer asks, and then one, or some that take next to no time.
    /// </param>
    /// <param name="start">Starts the run, at the consumer's first step.</param>
    public StreamOutput(bool ordered, int limit, int capacity, Func<StreamOutput<TResult>, IRunHandle> start)
    {
        _ordered = ordered;
        _window = WindowOf(limit, capacity);
        _startsWhenAsked = capacity == 0;
        _size = (int)BitOperations.RoundUpToPowerOf2((uint)Math.Clamp(_window, _startsWhenAsked ? MostAtOnce : 16, 256));
        _publishEvery = _startsWhenAsked ? int.MaxValue : (int)Math.Max(1, Math.Min(capacity, _window) / (_window < 256 ? 4 : 2));
        _start = start;
    }

    /// <summary>The index at or beyond which no item may start.</summary>
    public long Ceiling
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => Volatile.Read(ref _consumed) + Volatile.Read(ref _window);
    }

    /// <summary>Whether the consumer has left, so that nobody gets anything any more.</summary>
    public bool IsLeft => Volatile.Read(ref _disposed);

    public TResult Current { get; private set; } = default!;

    /// <summary>
    /// The number of items (negative for those that were read), and what to yield for those that never ran; null if such items are left out. Set before the run
    /// starts.
    /// </summary>
    public (int Count, Func<long, Exception?, TResult> Make)? Missing { get; set; }

    /// <summary>The token of the call. After its cancellation, nothing more is yielded.</summary>
    public CancellationToken CallToken { get; init; }

    /// <summary>The token of the enumeration, likewise.</summary>
    public CancellationToken EnumerationToken { get; init; }

    /// <summary>How often the consumer looks again before it waits, while a worker is storing results. For tests, which search what follows.</summary>
    public int MoreLooks { get; init; } = 2;

    /// <summary>Disposes of the results that the consumer leaves behind; null if that is not asked for.</summary>
    public UnusedResults<TResult>? Unused { get; init; }

    /// <summary>What the consumer waits for.</summary>
    public ConsumerNote Note { get; } = new();

    private bool IsCancelled => CallToken.IsCancellationRequested || EnumerationToken.IsCancellationRequested;

    /// <summary>Whether a worker is storing results in a chunk that is open.</summary>
    private bool HasWriters => Volatile.Read(ref _writers) > 0;

    /// <summary>Whether the consumer may take what it has found: there is much of it, or its chunk is at its end, or there are other chunks. A hint.</summary>
    private bool IsEnough => _until - _at >= Enough || _until == _size || Volatile.Read(ref _first) is not null || _current!.IsClosed;

    /// <summary>In source order, the index of the next result.</summary>
    private long Head => _current is { } current ? current.First + _at : _base;

    /// <summary>How many ended items are still in the chunks. For statistics: read without a lock.</summary>
    public long Undelivered(long ended) =>
        Math.Max(0, ended - Volatile.Read(ref _consumed) - Volatile.Read(ref _unpublished));

    /// <summary>Makes room for more items in flight. There is never less.</summary>
    /// <param name="limit">How many items are in flight at once.</param>
    /// <param name="capacity">That of the constructor.</param>
    public void Widen(int limit, int capacity)
    {
        lock (_lock)
        {
            // The table first: an item that starts because of the window finds its slot.
            long window = Math.Max(_window, WindowOf(limit, capacity));
            if (_table.Length > 0)
            {
                EnlargeTableNeedsLock(window);
            }

            Volatile.Write(ref _window, window);
        }
    }

    // The workers.

    /// <summary>Prepares for the results of several items that one worker runs at once.</summary>
    /// <param name="held">The chunk that it fills.</param>
    /// <param name="first">The index of the first item.</param>
    /// <param name="count">How many there are.</param>
    /// <returns>For how many of them there are slots.</returns>
    public int Open(ref ResultChunk? held, long first, int count)
    {
        if (held is null)
        {
            Interlocked.Increment(ref _writers);
        }

        if (_ordered)
        {
            held = ChunkOf(first);
            return Math.Min(count, _size - (int)(first & (_size - 1)));
        }

        ResultChunk<TResult>? chunk = Unsafe.As<ResultChunk<TResult>?>(held);
        if (chunk is null || chunk.Count == _size)
        {
            lock (_lock)
            {
                if (chunk is not null)
                {
                    CloseNeedsLock(chunk);
                }

                chunk = RentNeedsLock();
                _open.Add(chunk);
            }

            held = chunk;
        }

        return Math.Min(count, _size - chunk.Count);
    }

    /// <summary>Waits some microseconds for the consumer to make room, unless it waits itself.</summary>
    /// <returns>Whether an item with this index may start.</returns>
    public bool WaitForRoom(long index)
    {
        for (int looks = 0; looks < 3 && Note.WaitsFor == ConsumerNote.NotWaiting && !IsLeft; looks++)
        {
            Thread.SpinWait(40);
            if (index < Ceiling)
            {
                return true;
            }
        }

        return false;
    }

    /// <summary>
    /// The worker stores nothing more in its chunk. Called by the worker itself, and by who gives up its item; the first one closes it.
    /// </summary>
    public void Close(ref ResultChunk? held)
    {
        if (held is null || Interlocked.Exchange(ref held, null) is not { } chunk)
        {
            return;
        }

        Interlocked.Decrement(ref _writers);
        if (_ordered)
        {
            return;
        }

        lock (_lock)
        {
            if (!_isDropped)
            {
                CloseNeedsLock(Unsafe.As<ResultChunk<TResult>>(chunk));
            }
        }
    }

    /// <summary>Takes a single result from a worker.</summary>
    public void Add(long index, TResult result)
    {
        NoteThread();
        if (_ordered)
        {
            ref ResultSlot<TResult> slot = ref SlotOf(index);
            slot.Value = result;
            Interlocked.Exchange(ref slot.State, ResultSlot<TResult>.Filled);
            Stored(index);
            return;
        }

        bool wake;
        bool hasRoom = false;
        lock (_lock)
        {
            ResultChunk<TResult>? chunk = _last;
            if (chunk is null || chunk.IsClosed)
            {
                chunk = RentNeedsLock();
                EnqueueNeedsLock(chunk);
            }

            chunk.Slots[chunk.Count].Value = result;
            chunk.Count++;
            chunk.IsClosed = chunk.Count == _size;
            wake = WakeIfFoundNeedsLock(ref hasRoom);
        }

        Tell(wake, hasRoom);
    }

    /// <summary>Called by a worker when an item has no result, so that nothing waits for it.</summary>
    public void Skip(long index)
    {
        NoteThread();
        if (_ordered)
        {
            Interlocked.Exchange(ref SlotOf(index).State, ResultSlot<TResult>.Skipped);
            Stored(index);
        }
        else
        {
            Interlocked.Increment(ref _consumed);
        }
    }

    // Before the result can be seen.
    private void NoteThread()
    {
        if (_startsWhenAsked && Environment.CurrentManagedThreadId != _asking)
        {
            _ranElsewhere = true;
            Volatile.Write(ref _window, 1);
        }
    }

    /// <summary>The run is over.</summary>
    public void Complete(RunEnd end)
    {
        bool wake;
        lock (_lock)
        {
            _end ??= new Ending(end);
            wake = Note.WaitsFor != ConsumerNote.NotWaiting;
            Note.WaitsFor = ConsumerNote.NotWaiting;
        }

        _ended.TrySetResult();
        if (wake)
        {
            _signal.SetResult(true);
        }
    }

    /// <summary>Wakes the consumer, if it waits for what was stored. Separate and rare: it waits once for many results.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public void Stored(long index)
    {
        long waitsFor = Note.WaitsFor;
        if (waitsFor != index && waitsFor != ConsumerNote.ForAny)
        {
            return;
        }

        bool wake;
        bool hasRoom = false;
        lock (_lock)
        {
            wake = WakeIfFoundNeedsLock(ref hasRoom);
        }

        Tell(wake, hasRoom);
    }

    /// <summary>Looks on behalf of the consumer, if it waits, and takes the note that it does so if there is something for it.</summary>
    /// <param name="hasRoom">Whether to tell the run, outside of the lock, that more items may start.</param>
    /// <returns>Whether to set the signal, outside of the lock.</returns>
    private bool WakeIfFoundNeedsLock(ref bool hasRoom)
    {
        while (Note.WaitsFor != ConsumerNote.NotWaiting)
        {
            if (FindNeedsLock())
            {
                Note.WaitsFor = ConsumerNote.NotWaiting;
                return true;
            }

            if (!_ordered || Head == Note.WaitsFor)
            {
                return false;
            }

            // It has passed items without a result, and nobody else makes room for them while the consumer waits. Who has stored the next result may have seen
            // the old note.
            hasRoom = true;
            RaiseCeiling();
            NoteWaitNeedsLock();
        }

        return false;
    }

    /// <summary>Does what <see cref="WakeIfFoundNeedsLock"/> says.</summary>
    private void Tell(bool wake, bool hasRoom)
    {
        if (wake)
        {
            _signal.SetResult(true);
        }

        if (hasRoom)
        {
            _run!.Release();
        }
    }

    /// <summary>Notes that the consumer waits, so that whoever stores what it waits for either sees the note, or has stored it before this returns.</summary>
    private void NoteWaitNeedsLock()
    {
        Note.WaitsFor = _ordered ? Head : ConsumerNote.ForAny;
        Interlocked.MemoryBarrier();
        if (HasWriters)
        {
            Interlocked.MemoryBarrierProcessWide();
        }
    }

    private ref ResultSlot<TResult> SlotOf(long index) => ref ChunkOf(index).Slots[(int)(index & (_size - 1))];

    /// <summary>The chunk of an index, in source order. For who has an item of it.</summary>
    private ResultChunk<TResult> ChunkOf(long index)
    {
        long first = index & -_size;
        return Find(first) ?? Make(first);
    }

    private ResultChunk<TResult>? Find(long first)
    {
        ResultChunk<TResult>?[] table = Volatile.Read(ref _table);
        ResultChunk<TResult>? found = table.Length == 0 ? null : Volatile.Read(ref table[PositionIn(table, first)]);
        return found is not null && Volatile.Read(ref found.First) == first ? found : null;
    }

    private ResultChunk<TResult> Make(long first)
    {
        lock (_lock)
        {
            if (_table.Length == 0)
            {
                EnlargeTableNeedsLock(_window);
            }

            if (Find(first) is { } found)
            {
                return found;
            }

            ResultChunk<TResult> made = RentNeedsLock();
            Volatile.Write(ref made.First, first);
            Volatile.Write(ref _table[PositionIn(_table, first)], made);
            return made;
        }
    }

    // Who reads the old table meanwhile finds its chunk there, or makes or finds it under the lock.
    private void EnlargeTableNeedsLock(long window)
    {
        int length = (int)BitOperations.RoundUpToPowerOf2((uint)((window / _size) + 2));
        if (length <= _table.Length)
        {
            return;
        }

        var table = new ResultChunk<TResult>?[length];
        foreach (ResultChunk<TResult>? chunk in _table)
        {
            if (chunk is not null)
            {
                table[PositionIn(table, chunk.First)] = chunk;
            }
        }

        Volatile.Write(ref _table, table);
    }

    private int PositionIn(ResultChunk<TResult>?[] table, long first) => (int)((first / _size) & (table.Length - 1));

    private void CloseNeedsLock(ResultChunk<TResult> chunk)
    {
        _open.Remove(chunk);
        chunk.IsClosed = true;
        if (chunk != _current)
        {
            EnqueueNeedsLock(chunk);
        }
    }

    private void EnqueueNeedsLock(ResultChunk<TResult> chunk)
    {
        if (_last is null)
        {
            _first = chunk;
        }
        else
        {
            _last.Next = chunk;
        }

        _last = chunk;
    }

    private ResultChunk<TResult> RentNeedsLock()
    {
        if (_unused is { } chunk)
        {
            _unused = chunk.Next;
            _unusedCount--;
            chunk.Next = null;
        }
        else
        {
            ResultSlot<TResult>[] slots = ArrayPool<ResultSlot<TResult>>.Shared.Rent(_size);
            Array.Clear(slots, 0, _size);
            chunk = new ResultChunk<TResult>(this, slots, _ordered ? _size - 1 : 0);
        }

        chunk.Began = _begun++;
        return chunk;
    }

    /// <summary>The consumer has emptied all slots of a chunk that nobody fills.</summary>
    private void ReturnNeedsLock(ResultChunk<TResult> chunk)
    {
        if (_unusedCount == 8)
        {
            ArrayPool<ResultSlot<TResult>>.Shared.Return(chunk.Slots);
            return;
        }

        chunk.Taken = 0;
        chunk.Count = 0;
        chunk.IsClosed = false;
        chunk.Next = _unused;
        _unused = chunk;
        _unusedCount++;
    }

    // The consumer.

    public ValueTask<bool> MoveNextAsync()
    {
        if (_at < _until && !IsCancelled)
        {
            Take();
            return new ValueTask<bool>(true);
        }

        if (_disposed)
        {
            return new ValueTask<bool>(false);
        }

        if (_start is { } start)
        {
            _start = null;
            try
            {
                _asking = Environment.CurrentManagedThreadId;
                _run = start(this);
                _asking = 0;
            }
            catch
            {
                // If the run was rejected, there is nothing to wait for afterwards.
                _disposed = true;
                throw;
            }
        }

        return Step() is { } answer ? answer : new ValueTask<bool>(this, _signal.Version);
    }

    bool IValueTaskSource<bool>.GetResult(short token)
    {
        _signal.GetResult(token);
        _signal.Reset();

        // The thread that woke us left a result or the end, so there is an answer, and it is complete.
        return Step().GetValueOrDefault().GetAwaiter().GetResult();
    }

    ValueTaskSourceStatus IValueTaskSource<bool>.GetStatus(short token) => _signal.GetStatus(token);

    void IValueTaskSource<bool>.OnCompleted(Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
        _signal.OnCompleted(continuation, state, token, flags);

    private void Take()
    {
        ref ResultSlot<TResult> slot = ref _slots[_at++];
        Current = slot.Value;

        // Before the ceiling is raised: then the slot is used again.
        slot = default;
        if (++_unpublished >= _publishEvery)
        {
            Publish();
        }
    }

    /// <summary>Yields the next result, or the end.</summary>
    /// <returns>Null if the consumer has to wait; then it is recorded as waiting.</returns>
    private ValueTask<bool>? Step()
    {
        if (EndsByCancellation)
        {
            return Cancel();
        }

        if (_startsWhenAsked)
        {
            // The next items may start now, and where they run on this thread, their results are there when this returns.
            long started = Stopwatch.GetTimestamp();
            _asking = Environment.CurrentManagedThreadId;
            Publish();
            _asking = 0;
            _took = _took == 0 ? Quick : Stopwatch.GetTimestamp() - started;
        }

        Ending? end = null;
        bool found = false;
        bool hasRoom = false;
        bool waited = false;
        bool isPatient = HasWriters || _patience.TryUse();
        for (int looks = 0; true; looks++)
        {
            end = Volatile.Read(ref _end);
            found = _current is not null && (end is null || end.Value.HasResults) && Count();
            if (!found)
            {
                lock (_lock)
                {
                    end = _end;
                    found = (end is null || end.Value.HasResults) && FindNeedsLock();
                    if (!found && end is null && (looks == MoreLooks || !isPatient))
                    {
                        // Waiting while there are unreported results would stop a run with a small window.
                        hasRoom = _unpublished > 0;
                        RaiseCeiling();
                        NoteWaitNeedsLock();
                        found = WakeIfFoundNeedsLock(ref hasRoom);
                        break;
                    }
                }
            }

            if (end is not null || looks == MoreLooks || (found && (!isPatient || IsEnough)))
            {
                break;
            }

            // A worker is storing results one after the other. Some microseconds later there are many, and neither of both has to wake the other.
            waited = true;
            Thread.SpinWait(60);
        }

        if (waited)
        {
            _patience.Waited(found);
        }

        if (_startsWhenAsked)
        {
            // Only what this thread has done itself, and quickly, says that more of it is quick too.
            bool isTiny = found && !waited && !_ranElsewhere && _took < Quick && (_until - _at == _window || _until == _size);
            _window = isTiny ? Math.Min(_window * 2, MostAtOnce) : 1;
        }

        if (found && EndsByCancellation)
        {
            // It was cancelled meanwhile, and what was found may be an outcome that says so.
            return Cancel();
        }

        if (found)
        {
            Take();
        }

        if (hasRoom)
        {
            _run!.Release();
        }

        if (found)
        {
            return new ValueTask<bool>(true);
        }

        if (end is null)
        {
            // The signal was reset before.
            return null;
        }

        if (end.Value.HasResults && TryTakeAfterEnd(end.Value))
        {
            return new ValueTask<bool>(true);
        }

        _hasReportedEnd = true;
        return AtEnd(end.Value);
    }

    private bool EndsByCancellation => IsCancelled && !_hasReportedEnd && !_run!.HasFailed;

    private ValueTask<bool> Cancel()
    {
        // Computed results stay where they are until the disposal, which also waits for running items.
        CancellationToken token = CallToken.IsCancellationRequested ? CallToken : EnumerationToken;
        _run!.Cancel(token);
        return ValueTask.FromCanceled<bool>(token);
    }

    /// <summary>Looks for the next result, and makes its chunk the current one.</summary>
    private bool FindNeedsLock() => _ordered ? FindNextNeedsLock() : FindAnyNeedsLock();

    private bool FindNextNeedsLock()
    {
        while (_current is not null || TryEnterNeedsLock(Find(_base & -_size)))
        {
            ResultChunk<TResult> current = _current!;
            if (_at == _size)
            {
                _base = current.First + _size;
                LeaveNeedsLock();
                Volatile.Write(ref _table[PositionIn(_table, current.First)], null);
                Volatile.Write(ref current.First, -1);
                ReturnNeedsLock(current);
                continue;
            }

            if (Count())
            {
                return true;
            }

            ref ResultSlot<TResult> slot = ref current.Slots[_at];
            if (Volatile.Read(ref slot.State) != ResultSlot<TResult>.Skipped)
            {
                return false;
            }

            slot.State = ResultSlot<TResult>.Empty;
            _at++;
            _unpublished++;
        }

        return false;
    }

    private bool FindAnyNeedsLock()
    {
        if (_current is { } current)
        {
            if (Count())
            {
                return true;
            }

            current.Taken = _at;
            LeaveNeedsLock();
            if (current.IsClosed)
            {
                ReturnNeedsLock(current);
            }
        }

        // The chunk that was begun first: so the results of one worker come in their order, and those of one that is inside a long call do not wait for what the
        // others do meanwhile.
        while (OldestNeedsLock() is { } oldest)
        {
            if (oldest != _first)
            {
                return TryEnterNeedsLock(oldest) && Count();
            }

            ResultChunk<TResult> first = oldest;
            _first = first.Next;
            _last = _first is null ? null : _last;
            first.Next = null;
            first.IsClosed = true;
            if (TryEnterNeedsLock(first) && Count())
            {
                return true;
            }

            // All of it was taken while it was open.
            LeaveNeedsLock();
            ReturnNeedsLock(first);
        }

        return false;
    }

    /// <summary>Of the open chunks with results, and the first of the queue, the one that was begun first.</summary>
    private ResultChunk<TResult>? OldestNeedsLock()
    {
        ResultChunk<TResult>? oldest = _first;
        foreach (ResultChunk<TResult> chunk in _open)
        {
            if (chunk.Count > chunk.Taken && (oldest is null || chunk.Began < oldest.Began))
            {
                oldest = chunk;
            }
        }

        return oldest;
    }

    private bool TryEnterNeedsLock(ResultChunk<TResult>? chunk)
    {
        if (chunk is null)
        {
            return false;
        }

        _current = chunk;
        _slots = chunk.Slots;
        _at = _ordered ? (int)(_base - chunk.First) : chunk.Taken;
        _until = _at;
        return true;
    }

    private void LeaveNeedsLock()
    {
        _current = null;
        _at = 0;
        _until = 0;
    }

    /// <summary>Counts the results that are there in the current chunk. Needs no lock: only the consumer moves there, or who looks on its behalf.</summary>
    private bool Count()
    {
        if (!_ordered)
        {
            _until = _current!.Count;
            return _until > _at;
        }

        int until = _at;
        while (until < _size && Volatile.Read(ref _slots[until].State) == ResultSlot<TResult>.Filled)
        {
            until++;
        }

        _until = until;
        return until > _at;
    }

    /// <summary>
    /// After the end, nothing is left where the consumer is. In source order, there may be results behind items that never ran: those that a stopped run gave
    /// back. And items that never ran may be yielded themselves.
    /// </summary>
    private bool TryTakeAfterEnd(in RunEnd end)
    {
        if (!_ordered)
        {
            _tail ??= Missing is null ? null : end.NeverRun(Missing.Value.Count).GetEnumerator();
            if (_tail?.MoveNext() != true)
            {
                return false;
            }

            Current = Missing!.Value.Make(_tail.Current, end.Deadline);
            return true;
        }

        long last = Missing is { Count: >= 0 } known ? known.Count : end.Claimed;
        while (Head < last)
        {
            long index = Head;
            if (_current is not null)
            {
                _until = ++_at;
            }
            else
            {
                _base = index + 1;
            }

            if (Missing is { } missing)
            {
                Current = missing.Make(index, end.Deadline);
                return true;
            }

            Interlocked.Increment(ref _consumed);
            bool found;
            lock (_lock)
            {
                found = FindNeedsLock();
            }

            if (found)
            {
                Take();
                return true;
            }
        }

        return false;
    }

    /// <summary>Raises the ceiling by the number of results yielded since the last time, and tells the run.</summary>
    private void Publish()
    {
        if (_unpublished > 0)
        {
            RaiseCeiling();
            _run!.Release();
        }
    }

    private void RaiseCeiling()
    {
        Interlocked.Add(ref _consumed, _unpublished);
        _unpublished = 0;
    }

    private static int WindowOf(int limit, int capacity) => (int)Math.Min((long)limit + capacity, 1 << 30);

    private static ValueTask<bool> AtEnd(RunEnd end) => end.Result switch
    {
        RunResult.Cancelled => ValueTask.FromCanceled<bool>(end.Cancelled!.Value),
        RunResult.Failed => ValueTask.FromException<bool>(end.Failures!.Single!),
        RunResult.FailedInPart => ValueTask.FromException<bool>(new ItemsFailedException(end.Failures!.Collected!)),
        _ => new ValueTask<bool>(false),
    };

    /// <summary>The end of the run in an object of its own, which exists once there is an end.</summary>
    private sealed class Ending(RunEnd value)
    {
        public readonly RunEnd Value = value;
    }

    // The consumer leaves.

    /// <summary>Stops the run if it is still active, and waits until nothing of it is left.</summary>
    public ValueTask DisposeAsync()
    {
        if (_disposed)
        {
            return default;
        }

        _disposed = true;
        _until = _at;
        _start = null;
        if (_run is null)
        {
            return default;
        }

        _run.Abandon();
        if (Unused is null && _ended.Task.IsCompleted)
        {
            Drop(null);
            return default;
        }

        return new ValueTask(DropWhenEndedAsync());
    }

    // Separate, because nearly all streams have ended when they are disposed.
    private async Task DropWhenEndedAsync()
    {
        await _ended.Task.ConfigureAwait(false);
        HashSet<object>? left = Drop(Unused);
        if (Unused is { } unused)
        {
            await unused.DisposeAsync(left).ConfigureAwait(false);
        }
    }

    /// <summary>Drops all chunks, with what is in them.</summary>
    /// <returns>What has to be disposed of.</returns>
    private HashSet<object>? Drop(UnusedResults<TResult>? unused)
    {
        HashSet<object>? left = null;
        lock (_lock)
        {
            _isDropped = true;
            if (_current is { } current)
            {
                current.Taken = _at;
                LeaveNeedsLock();
                if (current.IsClosed && !_ordered)
                {
                    DropChunk(current, unused, ref left);
                }
            }

            foreach (ResultChunk<TResult>? chunk in _table)
            {
                DropChunk(chunk, unused, ref left);
            }

            foreach (ResultChunk<TResult> chunk in _open)
            {
                DropChunk(chunk, unused, ref left);
            }

            for (; _first is { } first; _first = first.Next)
            {
                DropChunk(first, unused, ref left);
            }

            for (; _unused is { } spare; _unused = spare.Next)
            {
                DropChunk(spare, null, ref left);
            }

            _table = [];
            _open.Clear();
            _last = null;
        }

        return left;
    }

    private void DropChunk(ResultChunk<TResult>? chunk, UnusedResults<TResult>? unused, ref HashSet<object>? left)
    {
        if (chunk is null)
        {
            return;
        }

        for (int i = _ordered ? 0 : chunk.Taken; unused is not null && i < (_ordered ? _size : chunk.Count); i++)
        {
            ref ResultSlot<TResult> slot = ref chunk.Slots[i];
            if (!_ordered || slot.State == ResultSlot<TResult>.Filled)
            {
                unused.Add(ref left, new ReadOnlySpan<TResult>(in slot.Value));
            }
        }

        ArrayPool<ResultSlot<TResult>>.Shared.Return(chunk.Slots, clearArray: RuntimeHelpers.IsReferenceOrContainsReferences<TResult>());
    }
}

/// <summary>Passes results to the consumer of a stream.</summary>
internal readonly struct StreamSink<TResult>(StreamOutput<TResult> output) : ISink<TResult>
{
    private readonly StreamOutput<TResult> _output = output;

    public bool HasSlots => false;

    public bool HasChunks => true;

    public long Ceiling
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => _output.Ceiling;
    }

    public long Undelivered(long ended) => _output.Undelivered(ended);

    public Span<TResult> Slots(long first, int count) => default;

    public int Open(ref ResultChunk? chunk, long first, int count) => _output.Open(ref chunk, first, count);

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Store(ResultChunk chunk, long index, TResult result) => Unsafe.As<ResultChunk<TResult>>(chunk).Store(index, result);

    public void Close(ref ResultChunk? chunk) => _output.Close(ref chunk);

    public bool WaitForRoom(long index) => _output.WaitForRoom(index);

    public void Succeeded(long index, TResult result) => _output.Add(index, result);

    public void Unsuccessful(long index, ItemStatus status, Exception? error) => _output.Skip(index);

    public void Complete(RunEnd end) => _output.Complete(end.OrDeadline);
}

/// <summary>What the consumer of a stream can tell the run that feeds it.</summary>
internal interface IRunHandle
{
    /// <summary>The caller has cancelled. The consumer may see this before the run does.</summary>
    void Cancel(CancellationToken by);

    /// <summary>The consumer has left: the run ends.</summary>
    void Abandon();

    /// <summary>Whether the run has failed. If so, the consumer gets the failure, even if the caller cancels afterwards.</summary>
    bool HasFailed { get; }

    /// <summary>The ceiling was raised: reading may continue.</summary>
    void Release();
}
