using System.Diagnostics.CodeAnalysis;
using System.Runtime.ExceptionServices;
using System.Runtime.InteropServices;
using Weir.Core.Threads;

namespace Weir.Core.Sources;

/// <summary>Splits a sequence into batches, one at a time and only as they are requested.</summary>
internal static class Batches
{
    public static Source<IReadOnlyList<T>> Enumerable<T>(IEnumerable<T> items, int batchSize) => items switch
    {
        // Read-only spans, because the array may be a covariant one (string[] as object[]), which no other span accepts.
        T[] array => new BatchSource<T>(array.Length, batchSize, (first, count) => new ReadOnlySpan<T>(array, first, count).ToArray()),
        List<T> list when list.GetType() == typeof(List<T>) => new BatchSource<T>(list.Count, batchSize, (first, count) => Slice(list, first, count)),
        WorkQueue<T>.Items { Queue: var queue } => queue.MakeBatches(batchSize),
        _ => new LazyBatchSource<T>(items, batchSize),
    };

    public static Source<IReadOnlyList<T>> AsyncEnumerable<T>(IAsyncEnumerable<T> items, int batchSize, TimeSpan? timeout, TimeProvider time) =>
        items is WorkQueue<T> queue ? queue.MakeBatches(batchSize) : new TimedBatchSource<T>(items, batchSize, timeout, time);

    /// <summary>Whether all items are in memory, so that a batch never has to wait for its last item.</summary>
    public static bool IsInMemory<T>(IEnumerable<T> items) => SourceOf.Enumerable(items).KnownCount >= 0;

    private static T[] Slice<T>(List<T> list, int first, int count)
    {
        Span<T> all = CollectionsMarshal.AsSpan(list);
        return all.Length >= first + count
            ? all.Slice(first, count).ToArray()
            : throw new InvalidOperationException("The source list was changed while the run was reading it.");
    }
}

/// <summary>Batches of items that are in memory by index. Each batch is copied when it is claimed, so that only those in flight exist.</summary>
internal sealed class BatchSource<T>(int count, int batchSize, Func<int, int, T[]> slice)
    : IndexedSource<IReadOnlyList<T>>((int)(((long)count + batchSize - 1) / batchSize)), ILanes
{
    public override BatchTally Tally { get; } = new(batchSize) { Total = count };

    public void ItemEnded(long index, ItemEnd end = ItemEnd.Succeeded) =>
        Tally.Ended((int)Math.Min(batchSize, count - (index * batchSize)), end);

    protected override void Fill(ref Chunk<IReadOnlyList<T>> chunk, int first, int count1)
    {
        var batches = new IReadOnlyList<T>[count1];
        for (int i = 0; i < count1; i++)
        {
            int start = (first + i) * batchSize;
            batches[i] = slice(start, Math.Min(batchSize, count - start));
        }

        chunk.SetArray(batches, 0, count1, first);
    }
}

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

/// <summary>Batches of a sequence whose MoveNext may run user code or block.</summary>
internal sealed class LazyBatchSource<T>(IEnumerable<T> items, int batchSize) : OneByOneSource<IReadOnlyList<T>>, ILanes
{
    private IEnumerator<T>? _enumerator;
    private BatchBuffer<T> _batch = new(batchSize);
    private bool _ended;

    public override BatchTally Tally { get; } = new(batchSize);

    public override bool BeginsWhatWasRead => true;

    protected override bool IsDrained => base.IsDrained || (IsStopped && _batch.Count == 0);

    public void ItemEnded(long index, ItemEnd end = ItemEnd.Succeeded) => Tally.Ended(index, end);

    public override ValueTask DisposeAsync()
    {
        _enumerator?.Dispose();
        return default;
    }

    protected override ClaimResult Step(out IReadOnlyList<T>? item)
    {
        item = null;
        try
        {
            if (!TryFill())
            {
                // The batch stays as it is.
                return ClaimResult.Paused;
            }
        }
        catch (Exception) when (IsStopped)
        {
            // Dropped, as all that a source throws after a stop.
            _ended = true;
        }

        if (_batch.Count == 0)
        {
            return ClaimResult.Empty;
        }

        Tally.Read(NextIndex, _batch.Count);
        item = _batch.Take();
        return ClaimResult.Claimed;
    }

    /// <summary>Reads until the batch is full, the sequence ends or the reading stops.</summary>
    /// <returns>
    /// False if the reading pauses, even if the pause has ended since: the caller must not mistake it for the end of the sequence. Also if the run is over: the
    /// batch may never become full, and its worker leaves.
    /// </returns>
    private bool TryFill()
    {
        CancellationToken over = CancellationToken;
        while (!_ended && !_batch.IsFull)
        {
            if (HasOrder)
            {
                return IsStopped;
            }

            if (over.IsCancellationRequested)
            {
                return false;
            }

            IEnumerator<T> enumerator = _enumerator ??= items.GetEnumerator();
            if (enumerator.MoveNext())
            {
                _batch.Add(enumerator.Current);
            }
            else
            {
                _ended = true;
            }
        }

        return true;
    }
}

/// <summary>
/// Batches of an asynchronous sequence. A partial batch goes out when its oldest item has waited for the time limit, even while
/// the sequence is silent. The step that is in progress then simply continues, and its item begins the next batch.
/// </summary>
/// <remarks>
/// The reader has the turn, and all but the signals of the step and of the timer is its own. Their callbacks come on any thread: under the lock they say what has
/// happened, and take the continuation of the reader that waits; they call it without the lock. A step is awaited once, by its result or by its signal.
/// </remarks>
internal sealed class TimedBatchSource<T>(IAsyncEnumerable<T> items, int batchSize, TimeSpan? timeout, TimeProvider time)
    : TurnSource<IReadOnlyList<T>>, ILanes, IUnattended
{
    private readonly Lock _lock = new();

    // Of the reader, and at the end of whoever disposes of the source.
    private IAsyncEnumerator<T>? _enumerator;
    private ITimer? _timer;
    private BatchBuffer<T> _batch = new(batchSize);
    private ValueTask<bool> _moving;
    private bool _ended;

    // Atomic: written by the reader, read by any thread that asks whether the source is drained.
    private volatile bool _isMoving;

    // Under _lock: shared with the callbacks of the step and of the timer.
    private bool _moved;
    private bool _timerOn;
    private long _begun;
    private bool _due;
    private Action? _waiter;
    private Exception? _failure;

    public override int KnownCount => -1;

    public override BatchTally Tally { get; } = new(batchSize);

    public override bool BeginsWhatWasRead => true;

    public void ItemEnded(long index, ItemEnd end = ItemEnd.Succeeded) => Tally.Ended(index, end);

    // A step that is in progress may still give an item.
    protected override bool IsDrained => base.IsDrained || (IsStopped && _batch.Count == 0 && !_isMoving);

    public override void OnReady(Action continuation)
    {
        lock (_lock)
        {
            if (!_moved && !_due)
            {
                _waiter = continuation;
                return;
            }
        }

        // That of a worker, which throws nothing.
        ThreadPool.UnsafeQueueUserWorkItem(static action => action(), continuation, preferLocal: false);
    }

    public override async ValueTask DisposeAsync()
    {
        if (_timer is not null)
        {
            await _timer.DisposeAsync().ConfigureAwait(false);
        }

        if (_isMoving)
        {
            // Stopped between two claims: the step has seen the cancelled token or will see it. It must not be awaited twice, so its signal is awaited.
            _isMoving = false;
            await WaitForStepAsync().ConfigureAwait(false);
            try
            {
                _moving.GetAwaiter().GetResult();
            }
            catch (Exception)
            {
                // The run has already ended and has its outcome.
            }
        }

        if (_enumerator is not null)
        {
            await _enumerator.DisposeAsync().ConfigureAwait(false);
        }
    }

    protected override ClaimResult Advance(ref Chunk<IReadOnlyList<T>> chunk, int max, long index)
    {
        if (IsStopped && _enumerator is null)
        {
            return ClaimResult.Empty;
        }

        if (Volatile.Read(ref _failure) is { } failure)
        {
            ExceptionDispatchInfo.Throw(failure);
        }

        IAsyncEnumerator<T> enumerator = _enumerator ??= items.GetAsyncEnumerator(CancellationToken);
        while (!_ended)
        {
            // After a stop there is only one more batch, which ends with the step that is in progress.
            if (_batch.IsFull || (TakeDue() && !IsStopped))
            {
                return Seal(ref chunk, index);
            }

            if (IsHeld)
            {
                // The batch stays as it is, and a step that is in progress goes on.
                return ClaimResult.Paused;
            }

            if (!_isMoving)
            {
                if (IsStopped)
                {
                    break;
                }

                if (CancellationToken.IsCancellationRequested)
                {
                    // The run is over, and the batch may never become full. The worker leaves.
                    return ClaimResult.Paused;
                }

                ValueTask<bool> moving = enumerator.MoveNextAsync();
                if (moving.IsCompleted)
                {
                    Take(moving);
                    continue;
                }

                _moving = moving;
                _isMoving = true;
                try
                {
                    _moving.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(Moved);
                }
                catch
                {
                    // No signal will come, so the end of the run must not wait for one.
                    _isMoving = false;
                    throw;
                }
            }

            return ClaimResult.Pending;
        }

        return _batch.Count > 0 ? Seal(ref chunk, index) : ClaimResult.Empty;
    }

    [SuppressMessage("Reliability", "CA2012:Use ValueTasks correctly", Justification = "Taken out of the field, consumed once.")]
    protected override ClaimResult FinishAdvance(ref Chunk<IReadOnlyList<T>> chunk, long index)
    {
        bool moved;
        lock (_lock)
        {
            moved = _moved;
            _moved = false;
        }

        if (moved)
        {
            ValueTask<bool> moving = _moving;
            _moving = default;
            try
            {
                Take(moving);
            }
            finally
            {
                _isMoving = false;
            }
        }

        return Advance(ref chunk, 1, index);
    }

    private void Take(ValueTask<bool> moving)
    {
        try
        {
            if (!moving.GetAwaiter().GetResult())
            {
                _ended = true;
                return;
            }

            _batch.Add(_enumerator!.Current);
        }
        catch (Exception) when (IsStopped)
        {
            // Dropped, as all that a source throws after a stop.
            _ended = true;
            return;
        }

        if (_batch.Count == 1 && timeout is { } limit)
        {
            long begun = time.GetTimestamp();
            lock (_lock)
            {
                _begun = begun;
                _timerOn = true;
                _due = false;
            }

            _timer ??= time.CreateTimer(
                static source => Unattended.Run((TimedBatchSource<T>)source!, static source => source.Fire()),
                this,
                Timeout.InfiniteTimeSpan,
                Timeout.InfiniteTimeSpan);
            _timer.Change(limit, Timeout.InfiniteTimeSpan);
        }
    }

    private ClaimResult Seal(ref Chunk<IReadOnlyList<T>> chunk, long index)
    {
        lock (_lock)
        {
            _timerOn = false;
            _due = false;
        }

        _timer?.Change(Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
        Tally.Read(index, _batch.Count);
        IReadOnlyList<T> batch = _batch.Take();
        Keeper?.Add(index, batch);
        chunk.SetSingle(batch, index);
        return ClaimResult.Claimed;
    }

    private bool TakeDue()
    {
        lock (_lock)
        {
            bool due = _due && _batch.Count > 0;
            _due = false;
            return due;
        }
    }

    private Task WaitForStepAsync()
    {
        lock (_lock)
        {
            if (_moved)
            {
                return Task.CompletedTask;
            }

            TaskCompletionSource ended = new(TaskCreationOptions.RunContinuationsAsynchronously);
            _timerOn = false;
            _waiter = ended.SetResult;
            return ended.Task;
        }
    }

    /// <summary>The timer failed: the next claim fails with it, and so does the run.</summary>
    void IUnattended.WorkFailed(Exception error)
    {
        Volatile.Write(ref _failure, error);
        Interlocked.Exchange(ref _waiter, null)?.Invoke();
    }

    /// <summary>Called when the step has ended.</summary>
    private void Moved()
    {
        Action? waiter;
        lock (_lock)
        {
            _moved = true;
            waiter = _waiter;
            _waiter = null;
        }

        waiter?.Invoke();
    }

    /// <summary>Called when the oldest item of the batch has waited long enough, or at least that of the batch before.</summary>
    private void Fire()
    {
        long begun;
        lock (_lock)
        {
            if (!_timerOn)
            {
                // It fired just as its batch became full.
                return;
            }

            begun = _begun;
        }

        // It was set again after it fired: without this, the next batch would go out at once, with what it has.
        TimeSpan left = timeout!.Value - time.GetElapsedTime(begun);
        if (left > TimeSpan.FromMilliseconds(1))
        {
            _timer!.Change(left, Timeout.InfiniteTimeSpan);
            return;
        }

        Action? waiter;
        lock (_lock)
        {
            if (!_timerOn || _begun != begun)
            {
                return;
            }

            _due = true;
            waiter = _waiter;
            _waiter = null;
        }

        waiter?.Invoke();
    }
}
