using System.Buffers;
using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;
using System.Threading.Tasks.Sources;

namespace Weir.Core.Sinks;

// The way from the workers of a stream to its one consumer.
//
// - The bound. A stream bounds the claims, not the writes: no item at or beyond consumed + MaxDegreeOfParallelism + ChannelCapacity starts (Ceiling). So a
//   worker with a result never waits for room, and an ordered stream is a ring of that size.
// - Who wakes the consumer. It takes all that is ready at once, and yields it without a lock. When nothing is left, it notes under the lock that it waits, and
//   goes (Step). Whoever then leaves a result that it can have, or the end, takes that note under the lock (TakeWaiterNeedsLock), and sets the signal outside
//   of it: a worker (Add, Skip) or the end of the run (Complete). The note is taken once, so the signal is set once.
// - Who wakes the run. The consumer raises the ceiling by what it has yielded, after some results at a time, and before it waits (Publish). Then it tells the
//   run, which may have a worker that left because it was at the ceiling (IRunHandle.Release).
// - The end. The run leaves its end (Complete). The consumer gets the results that are left, then the end. One that leaves earlier stops the run, and waits for
//   its end before it drops the buffers (DisposeAsync).

/// <summary>
/// The buffer between the workers of a stream and its one consumer. At most <c>window</c> items are anywhere between the source and the
/// consumer, because no item at or beyond <see cref="Ceiling"/> starts. So a worker with a result never has to wait for room.
/// </summary>
[SuppressMessage("Reliability", "CA2012:Use ValueTasks correctly", Justification = "Made here and handed on or consumed once.")]
internal abstract class StreamOutput<TResult> : IAsyncEnumerator<TResult>, IValueTaskSource<bool>
{
    // Immutable.
    private readonly int _publishEvery;
    private readonly bool _startsWhenAsked;
    private readonly TaskCompletionSource _ended = new(TaskCreationOptions.RunContinuationsAsynchronously);

    // Of the consumer: the results that it has taken over and is yielding, without a lock, and how many of them the run does not know of. For statistics, others
    // read that number.
    private IRunHandle? _run;
    private Func<StreamOutput<TResult>, IRunHandle>? _start;
    private TResult[] _taken = [];
    private int _takenCount;
    private int _takenNext;
    private int _unpublished;
    private bool _tailed;
    private bool _hasReportedEnd;

    // Written by the consumer, and read by the end of the run: who sees it late makes outcomes that nobody gets.
    private bool _disposed;

    // Under the lock. Workers read the ceiling without it at each claim, by a volatile read: it only grows, so one that sees an older value claims less.
    private int _window;
    private long _consumed;
    private long _ceiling;
    private bool _waiting;
    private Ending? _end;

    // Set by the one thread that has taken the note that the consumer waits; reset by the consumer, before it waits again.
    private ManualResetValueTaskSourceCore<bool> _signal = new() { RunContinuationsAsynchronously = true };

    /// <summary>Creates the output of one run.</summary>
    /// <param name="limit">How many items are in flight at once.</param>
    /// <param name="capacity">
    /// How many results may be ready for the consumer. If none, no item starts before the consumer asks for its result, apart from those in flight.
    /// </param>
    /// <param name="start">Starts the run, at the consumer's first step.</param>
    protected StreamOutput(int limit, int capacity, Func<StreamOutput<TResult>, IRunHandle> start)
    {
        _window = WindowOf(limit, capacity);
        _ceiling = _window;
        _startsWhenAsked = capacity == 0;
        _publishEvery = _startsWhenAsked ? int.MaxValue : Math.Max(1, Math.Min(capacity, _window) / 4);
        _start = start;
    }

    /// <summary>The index at or beyond which no item may start.</summary>
    public long Ceiling
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => Volatile.Read(ref _ceiling);
    }

    /// <summary>Whether the consumer has left, so that nobody gets anything any more.</summary>
    public bool IsLeft => Volatile.Read(ref _disposed);

    public TResult Current { get; private set; } = default!;

    /// <summary>
    /// The number of items (negative for those that were read), and what to yield for those that never ran; null if such items are left out. Set before the run
    /// starts.
    /// </summary>
    public (int Count, Func<long, TResult> Make)? Missing { get; set; }

    /// <summary>The token of the call. After its cancellation, nothing more is yielded.</summary>
    public CancellationToken CallToken { get; init; }

    /// <summary>The token of the enumeration, likewise.</summary>
    public CancellationToken EnumerationToken { get; init; }

    protected Lock Lock { get; } = new();

    private bool IsCancelled => CallToken.IsCancellationRequested || EnumerationToken.IsCancellationRequested;

    protected int Window => _window;

    /// <summary>How many ended items are still in the buffer. For statistics: read without a lock.</summary>
    public long Undelivered(long ended) =>
        Math.Max(0, ended - Volatile.Read(ref _consumed) - Volatile.Read(ref _unpublished));

    /// <summary>Takes a result from a worker.</summary>
    public void Add(long index, TResult result)
    {
        bool wake;
        lock (Lock)
        {
            AssertInvariants();
            wake = AddNeedsLock(index, result) && TakeWaiterNeedsLock();
        }

        if (wake)
        {
            _signal.SetResult(true);
        }
    }

    /// <summary>Called by a worker when an item has no result, so that nothing waits for it.</summary>
    public void Skip(long index)
    {
        bool wake;
        lock (Lock)
        {
            AssertInvariants();
            wake = SkipNeedsLock(index) && TakeWaiterNeedsLock();
        }

        if (wake)
        {
            _signal.SetResult(true);
        }
    }

    /// <summary>Makes room for more items in flight. There is never less.</summary>
    /// <param name="limit">How many items are in flight at once.</param>
    /// <param name="capacity">That of the constructor.</param>
    public void Widen(int limit, int capacity)
    {
        lock (Lock)
        {
            _window = Math.Max(_window, WindowOf(limit, capacity));
            ReleaseNeedsLock(0);
        }
    }

    /// <summary>The run is over.</summary>
    public void Complete(RunEnd end)
    {
        bool wake;
        lock (Lock)
        {
            _end ??= new Ending(end);
            wake = TakeWaiterNeedsLock();
        }

        _ended.TrySetResult();
        if (wake)
        {
            _signal.SetResult(true);
        }
    }

    public ValueTask<bool> MoveNextAsync()
    {
        if (_takenNext < _takenCount && !IsCancelled)
        {
            TakeCurrent();
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
                _run = start(this);
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

    protected static void ReturnBuffer<T>(T[] buffer)
    {
        if (buffer.Length > 0)
        {
            ArrayPool<T>.Shared.Return(buffer, clearArray: RuntimeHelpers.IsReferenceOrContainsReferences<T>());
        }
    }

    protected static T[] Grow<T>(T[] buffer, int length, int atMost)
    {
        T[] larger = ArrayPool<T>.Shared.Rent(Math.Max(length, Math.Min(Math.Max(16, buffer.Length * 2), atMost)));
        buffer.CopyTo(larger, 0);
        ReturnBuffer(buffer);
        return larger;
    }

    /// <summary>Counts items that left without being yielded.</summary>
    protected void ReleaseNeedsLock(int count)
    {
        _consumed += count;
        Volatile.Write(ref _ceiling, _consumed + _window);
    }

    /// <summary>Stores a result.</summary>
    /// <returns>Whether the consumer can continue.</returns>
    protected abstract bool AddNeedsLock(long index, TResult result);

    protected abstract bool SkipNeedsLock(long index);

    /// <summary>Returns the next results, in exchange for an empty buffer.</summary>
    protected abstract int TakeNeedsLock(ref TResult[] buffer);

    /// <summary>Passes items that never ran although later ones did, after the end of the run: those that a stopped run gave back.</summary>
    /// <returns>Whether there are results behind them.</returns>
    protected virtual bool PassGapNeedsLock() => false;

    /// <summary>Returns some of the items that never ran, after the end of the run.</summary>
    protected abstract int TailNeedsLock(RunEnd end, (int Count, Func<long, TResult> Make) missing, ref TResult[] buffer);

    /// <summary>Yields the next result, or the end.</summary>
    /// <returns>Null if the consumer has to wait; then it is recorded as waiting.</returns>
    private ValueTask<bool>? Step()
    {
        if (IsCancelled && !_hasReportedEnd && !_run!.HasFailed)
        {
            // Computed results stay where they are until the disposal, which also waits for running items.
            CancellationToken token = CallToken.IsCancellationRequested ? CallToken : EnumerationToken;
            _run.Cancel(token);
            return ValueTask.FromCanceled<bool>(token);
        }

        if (_takenNext < _takenCount)
        {
            // The run failed before it was cancelled. What was taken over is the consumer's, and must not be overwritten by what comes.
            TakeCurrent();
            return new ValueTask<bool>(true);
        }

        if (_startsWhenAsked)
        {
            // The next item may start now, and where it runs on this thread, its result is there when this returns.
            Publish();
        }

        Ending? end;
        bool hasRoom = false;
        lock (Lock)
        {
            AssertInvariants();
            end = _end;
            if (end is null || end.Value.HasResults)
            {
                _takenNext = 0;
                _takenCount = TakeNeedsLock(ref _taken);
                if (end is not null && _takenCount == 0 && Missing is { } missing && !_tailed)
                {
                    _takenCount = TailNeedsLock(end.Value, missing, ref _taken);
                    _tailed = _takenCount == 0;
                }
                else if (end is not null && _takenCount == 0 && Missing is null && PassGapNeedsLock())
                {
                    _takenCount = TakeNeedsLock(ref _taken);
                }
            }

            if (_takenCount == _takenNext && end is null)
            {
                // Waiting while there are unreported results would stop a run with a small window.
                hasRoom = _unpublished > 0;
                PublishNeedsLock();
                _waiting = true;
            }
        }

        if (_takenNext < _takenCount)
        {
            TakeCurrent();
            return new ValueTask<bool>(true);
        }

        if (end is not null)
        {
            _hasReportedEnd = true;
            return AtEnd(end.Value);
        }

        // The signal was reset before.
        if (hasRoom)
        {
            _run!.Release();
        }

        return null;
    }

    private void TakeCurrent()
    {
        Current = _taken[_takenNext++];
        if (++_unpublished >= _publishEvery)
        {
            Publish();
        }
    }

    /// <summary>Raises the ceiling by the number of results yielded since the last time.</summary>
    private void Publish()
    {
        if (_unpublished == 0)
        {
            return;
        }

        lock (Lock)
        {
            PublishNeedsLock();
        }

        _run!.Release();
    }

    /// <summary>Raises the ceiling without telling the run, which the caller does outside the lock.</summary>
    private void PublishNeedsLock()
    {
        ReleaseNeedsLock(_unpublished);
        _unpublished = 0;
    }

    private static int WindowOf(int limit, int capacity) => (int)Math.Min((long)limit + capacity, 1 << 30);

    private bool TakeWaiterNeedsLock()
    {
        bool waiting = _waiting;
        _waiting = false;
        return waiting;
    }

    private static ValueTask<bool> AtEnd(RunEnd end) => end.Result switch
    {
        RunResult.Cancelled => ValueTask.FromCanceled<bool>(end.Cancelled!.Value),
        RunResult.Failed => ValueTask.FromException<bool>(end.Failures!.Single!),
        RunResult.FailedInPart => ValueTask.FromException<bool>(new ItemsFailedException(end.Failures!.Collected!)),
        _ => new ValueTask<bool>(false),
    };

    [Conditional("DEBUG")]
    private void AssertInvariants()
    {
        Debug.Assert(Lock.IsHeldByCurrentThread, "The buffers are shared under the lock.");
        Debug.Assert(_ceiling == _consumed + _window, "The ceiling follows what was consumed.");
    }

    /// <summary>The end of the run in an object of its own, which exists once there is an end.</summary>
    private sealed class Ending(RunEnd value)
    {
        public readonly RunEnd Value = value;
    }

    // The consumer leaves.

    /// <summary>Disposes of the results that the consumer leaves behind; null if that is not asked for.</summary>
    public UnusedResults<TResult>? Unused { get; init; }

    /// <summary>Stops the run if it is still active, and waits until nothing of it is left.</summary>
    public ValueTask DisposeAsync()
    {
        if (_disposed)
        {
            return default;
        }

        _disposed = true;
        int next = _takenNext;
        _takenNext = _takenCount;
        _start = null;
        if (_run is null)
        {
            return default;
        }

        _run.Abandon();
        if (Unused is { } unused)
        {
            return new ValueTask(DisposeOfRestAsync(unused, next));
        }

        if (!_ended.Task.IsCompleted)
        {
            return new ValueTask(DropWhenEndedAsync());
        }

        Drop();
        return default;
    }

    protected abstract void DropNeedsLock();

    /// <summary>Adds the results that nobody has taken.</summary>
    protected abstract void AddLeftNeedsLock(UnusedResults<TResult> to, ref HashSet<object>? unused);

    // Separate, because nearly all streams have ended when they are disposed.
    private async Task DropWhenEndedAsync()
    {
        await _ended.Task.ConfigureAwait(false);
        Drop();
    }

    private async Task DisposeOfRestAsync(UnusedResults<TResult> unused, int next)
    {
        await _ended.Task.ConfigureAwait(false);
        HashSet<object>? left = null;
        unused.Add(ref left, _taken.AsSpan(next, _takenCount - next));
        lock (Lock)
        {
            AddLeftNeedsLock(unused, ref left);
        }

        Drop();
        await unused.DisposeAsync(left).ConfigureAwait(false);
    }

    private void Drop()
    {
        ReturnBuffer(_taken);
        _taken = [];
        _takenCount = 0;
        _takenNext = 0;
        lock (Lock)
        {
            DropNeedsLock();
        }
    }
}

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

/// <summary>Results in the order in which they were completed.</summary>
internal sealed class UnorderedOutput<TResult>(int limit, int capacity, Func<StreamOutput<TResult>, IRunHandle> start)
    : StreamOutput<TResult>(limit, capacity, start)
{
    private TResult[] _ready = [];
    private int _count;
    private IEnumerator<long>? _tail;

    protected override bool AddNeedsLock(long index, TResult result)
    {
        if (_count == _ready.Length)
        {
            _ready = Grow(_ready, _count + 1, Window);
        }

        _ready[_count++] = result;
        return true;
    }

    protected override bool SkipNeedsLock(long index)
    {
        ReleaseNeedsLock(1);
        return false;
    }

    protected override int TakeNeedsLock(ref TResult[] buffer)
    {
        int count = _count;
        (_ready, buffer) = (buffer, _ready);
        _count = 0;
        return count;
    }

    protected override int TailNeedsLock(RunEnd end, (int Count, Func<long, TResult> Make) missing, ref TResult[] buffer)
    {
        _tail ??= end.NeverRun(missing.Count).GetEnumerator();
        buffer = buffer.Length == 0 ? Grow(buffer, 1, Window) : buffer;
        int count = 0;
        while (count < buffer.Length && _tail.MoveNext())
        {
            buffer[count++] = missing.Make(_tail.Current);
        }

        return count;
    }

    protected override void DropNeedsLock()
    {
        ReturnBuffer(_ready);
        _ready = [];
        _count = 0;
    }

    protected override void AddLeftNeedsLock(UnusedResults<TResult> to, ref HashSet<object>? unused) => to.Add(ref unused, _ready.AsSpan(0, _count));
}

/// <summary>Passes results to the consumer of a stream.</summary>
internal readonly struct StreamSink<TResult>(StreamOutput<TResult> output) : ISink<TResult>
{
    private readonly StreamOutput<TResult> _output = output;

    public bool HasSlots => false;

    public long Ceiling
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => _output.Ceiling;
    }

    public long Undelivered(long ended) => _output.Undelivered(ended);

    public Span<TResult> Slots(long first, int count) => default;

    public void Succeeded(long index, TResult result) => _output.Add(index, result);

    public void Unsuccessful(long index, ItemStatus status, Exception? error) => _output.Skip(index);

    public void Complete(RunEnd end) => _output.Complete(end);
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
