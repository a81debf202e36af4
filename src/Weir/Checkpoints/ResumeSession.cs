using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using System.Globalization;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using Weir.Core;
using Weir.Core.Sinks;
using Weir.Core.Sources;

namespace Weir.Checkpoints;

// A run that goes on where another stopped.
//
// - The source is wrapped: items that are done already are dropped before the run sees them (Filter). So the run numbers only what is left. The n-th item that
//   was left is at position PositionOf(n) of the source, which follows from the ranges that were done at the start; with keys, each open item's key is kept.
// - An item is done after its success has reached the sink (ItemEnded), and in a stream after its consumer has come back for the next result: what waits for the
//   consumer when the process is killed must run again.
// - The ranges that are done are saved several times a second, as fast as the store allows, and at the end. A save takes its snapshot under the lock and writes
//   outside it. Only one save runs at a time.
// - A store in which calls mark their own items (FollowsItems) is told which items run, and is saved once before the first of them: what is marked then belongs
//   to this source.
// - A save that fails becomes a failure of the source, which ends the run at its next item: going on would make what has to be repeated ever more.

/// <summary>What one run knows of its checkpoint.</summary>
[SuppressMessage("Usage", "CA2208:Instantiate argument exceptions correctly", Justification = "A wrong option is named after its property.")]
[SuppressMessage("Design", "CA1001:Types that own disposable fields should be disposable", Justification = "The semaphore has no handle, and a late tick still asks it.")]
internal sealed class ResumeSession : ILanes
{
    public const int MostKeys = 1_000_000;

    private readonly Checkpoint _checkpoint;
    private readonly TimeProvider _time;
    private readonly SemaphoreSlim _saving = new(1, 1);
    private readonly Lock _lock = new();

    // Under _lock.
    private DoneItems _done = new();
    private readonly Dictionary<long, string>? _openKeys;
    private readonly Dictionary<long, (long First, int Count)>? _openBatches;
    private bool _isChanged;
    private bool _isWholeSourceRead;
    private long _sourceLength;

    // Written by OpenAsync, before anybody reads the source.
    private string _source = "";
    private bool _isSourceCertain;
    private Gap[] _gaps = [];
    private OpenCheckpoint? _open;
    private bool _followsItems;
    private ITimer? _timer;

    // Of the reader of the source, one at a time. The keys that were done before the run, and those that it has read: whether it has.
    private readonly Dictionary<string, bool> _keys = new(StringComparer.Ordinal);
    private long _read;
    private long _batched;
    private int _gap;

    // Atomic: written by the reader, or by the save that failed.
    private long _skipped;
    private volatile Exception? _failure;

    private ResumeSession(Checkpoint checkpoint, TimeProvider time, int knownCount, bool hasBatches)
    {
        _checkpoint = checkpoint;
        _time = time;
        Total = knownCount >= 0 ? knownCount : null;
        _openKeys = checkpoint.Key is null ? null : [];
        _openBatches = hasBatches ? [] : null;
    }

    /// <summary>How many items of the source were dropped, because an earlier run has done them.</summary>
    public long Skipped => Interlocked.Read(ref _skipped);

    /// <summary>How many items the source has, those that are dropped too; null if that is not known.</summary>
    public long? Total { get; }

    /// <summary>Whether items are done when their consumer comes back, and not when they end.</summary>
    public bool IsOfStream { get; set; }

    /// <summary>The lanes of the run, which also have to know of each item that ends.</summary>
    public ILanes? Lanes { get; set; }

    /// <summary>Checks a checkpoint against the items of a call.</summary>
    /// <exception cref="ArgumentException">It does not fit them.</exception>
    [StackTraceHidden]
    public static void Check<T>(Checkpoint? checkpoint, object source, bool repeats)
    {
        if (checkpoint is null)
        {
            return;
        }

        if (source is WorkQueue<T> or WorkQueue<T>.Items)
        {
            throw new ArgumentException("A WorkQueue has no Resume: its items come from the run itself, and the next run would not find them again.", "Resume");
        }

        if (checkpoint.Key is null && !repeats)
        {
            throw new ArgumentException(
                "A channel does not give the same items in the same order again: set Resume to a checkpoint with keys, such as "
                    + "Checkpoint.File(path).By((Order o) => o.Id).",
                "Resume");
        }

        if (checkpoint.Key is not (null or Func<T, string>))
        {
            throw new ArgumentException(
                $"The checkpoint takes keys of {checkpoint.Key.Method.GetParameters()[^1].ParameterType.Name}, but the items are of type {typeof(T).Name}.", "Resume");
        }
    }

    /// <summary>The session of a run that has not begun.</summary>
    /// <param name="checkpoint">The checkpoint, which has been checked.</param>
    /// <param name="time">The clock of the run.</param>
    /// <param name="knownCount">How many items there are; negative if that is not known.</param>
    /// <param name="hasBatches">Whether the run's items are batches of them.</param>
    public static ResumeSession Of(Checkpoint checkpoint, TimeProvider time, int knownCount, bool hasBatches) => new(checkpoint, time, knownCount, hasBatches);

    /// <summary>Takes the checkpoint, and reads what is done.</summary>
    /// <exception cref="IOException">Another run has it, or it cannot be read.</exception>
    /// <exception cref="InvalidOperationException">The source has changed, or it is no checkpoint.</exception>
    public async ValueTask OpenAsync(CancellationToken cancellationToken)
    {
        _open = await _checkpoint.Store.OpenAsync(cancellationToken).ConfigureAwait(false);
        _followsItems = _open.FollowsItems;
        try
        {
            string? known = _checkpoint.SourceText();
            _isSourceCertain = known is not null;
            _source = known ?? (_openKeys is null && Total is { } total ? $"{total.ToString(CultureInfo.InvariantCulture)} items" : "");
            if (await _open.LoadAsync(cancellationToken).ConfigureAwait(false) is { } saved)
            {
                Take(saved);
            }

            if (_followsItems)
            {
                // What is noted with the items belongs to this source from now on.
                _isChanged = true;
                await SaveAsync(isEnd: false).ConfigureAwait(false);
            }

            _timer = _time.CreateTimer(
                static session => Unattended.Run((ResumeSession)session!, static session => session.Tick()), this, Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
            _timer.Change(_open.Interval, Timeout.InfiniteTimeSpan);
        }
        catch
        {
            await _open.DisposeAsync().ConfigureAwait(false);
            throw;
        }
    }

    /// <summary>Saves what is done, and lets go of the checkpoint. The run has ended.</summary>
    /// <exception cref="IOException">It could not be saved.</exception>
    public async ValueTask CloseAsync()
    {
        _timer?.Dispose();

        // Never released: a tick that is late finds it taken.
        await _saving.WaitAsync().ConfigureAwait(false);
        try
        {
            await SaveAsync(isEnd: true).ConfigureAwait(false);
        }
        finally
        {
            await _open!.DisposeAsync().ConfigureAwait(false);
        }
    }

    /// <summary>The items that are not done.</summary>
    public IEnumerable<T> Filter<T>(IEnumerable<T> items)
    {
        long position = 0;
        foreach (T item in items)
        {
            if (IsLeft(item, position++))
            {
                yield return item;
            }
        }

        Ended(position);
    }

    /// <inheritdoc cref="Filter{T}(IEnumerable{T})"/>
    public async IAsyncEnumerable<T> Filter<T>(IAsyncEnumerable<T> items, [EnumeratorCancellation] CancellationToken cancellationToken = default)
    {
        long position = 0;
        await foreach (T item in items.WithCancellation(cancellationToken).ConfigureAwait(false))
        {
            if (IsLeft(item, position++))
            {
                yield return item;
            }
        }

        Ended(position);
    }

    /// <summary>A batch was made of the next items that are left.</summary>
    public void BatchRead(long index, int count)
    {
        lock (_lock)
        {
            _openBatches![index] = (_batched, count);
        }

        _batched += count;
    }

    /// <summary>An item or batch of the run is done: its effect is there, and whoever waits for it has it.</summary>
    public void Done(long index)
    {
        lock (_lock)
        {
            End(index, isDone: true);
            _isChanged = true;
        }

        _checkpoint.OnNoted?.Invoke();
    }

    void ILanes.ItemEnded(long index, ItemEnd end)
    {
        if (end != ItemEnd.Succeeded)
        {
            Forget(index);
        }
        else if (!IsOfStream)
        {
            Done(index);
        }

        Lanes?.ItemEnded(index, end);
    }

    private void Take(CheckpointText saved)
    {
        if (saved.IsComplete && (!_isSourceCertain || saved.Source != _source) && _openKeys is null)
        {
            // The run before came to its end, and this is another source, or nobody can tell: it begins anew.
            return;
        }

        if (saved.HasKeys != (_openKeys is not null))
        {
            throw new InvalidOperationException(
                $"The checkpoint {_checkpoint.Store.Name} notes {(saved.HasKeys ? "keys" : "positions")}, and this run goes by {(saved.HasKeys ? "position" : "key")}.");
        }

        if (saved.Source != _source && (_isSourceCertain || _openKeys is null))
        {
            throw new InvalidOperationException(
                $"The source has changed since the checkpoint {_checkpoint.Store.Name} was saved: it was '{saved.Source}' and is '{_source}'. "
                    + "Delete the checkpoint to begin anew.");
        }

        _done = saved.Done;
        _gaps = _done.Gaps();
        foreach (string key in _done.AllKeys)
        {
            _keys.TryAdd(key, false);
        }

        _checkpoint.OnResume?.Invoke(_done.Count);
    }

    // Whether an item is not done. Called for each item of the source, in its order.
    private bool IsLeft<T>(T item, long position)
    {
        if (_failure is { } failure)
        {
            throw failure;
        }

        bool isLeft;
        if (_openKeys is null)
        {
            while (_gap < _gaps.Length && position >= _gaps[_gap].End)
            {
                _gap++;
            }

            isLeft = _gaps.Length == 0 || position >= _gaps[_gap].First;
            if (isLeft && _followsItems)
            {
                _open!.Began(Checkpoint.TextOf(position));
            }
        }
        else
        {
            string key = ((Func<T, string>)_checkpoint.Key!)(item);
            ref bool wasRead = ref CollectionsMarshal.GetValueRefOrAddDefault(_keys, key, out bool isDone);
            if (wasRead)
            {
                throw new InvalidOperationException(
                    $"Two items of the source have the key {key}: each item needs a key of its own, or the checkpoint {_checkpoint.Store.Name} could not tell which "
                        + "of them is done.");
            }

            wasRead = true;
            isLeft = !isDone;
            if (isLeft)
            {
                Open(key);
            }
        }

        if (isLeft)
        {
            _read++;
        }
        else
        {
            Interlocked.Increment(ref _skipped);
        }

        return isLeft;
    }

    private void Open(string key)
    {
        if (_keys.Count > MostKeys)
        {
            throw new InvalidOperationException(
                $"The checkpoint {_checkpoint.Store.Name} would keep more than {ExceptionText.Number(MostKeys)} keys: go by position, or split the source.");
        }

        lock (_lock)
        {
            _openKeys![_read] = key;
        }

        _open!.Began(key);
    }

    private void Ended(long length)
    {
        lock (_lock)
        {
            _isWholeSourceRead = true;
            _sourceLength = length;
            _isChanged = true;
        }

        if (_openKeys is null && _gaps.Length > 0 && length < _gaps[^1].First)
        {
            throw new InvalidOperationException(
                $"The source has changed since the checkpoint {_checkpoint.Store.Name} was saved: it ends after {length} items, and item {_gaps[^1].First - 1} was "
                    + "done. Delete the checkpoint to begin anew.");
        }
    }

    private void Forget(long index)
    {
        if (_openKeys is null && _openBatches is null && !_followsItems)
        {
            return;
        }

        lock (_lock)
        {
            End(index, isDone: false);
        }
    }

    // Called under the lock.
    private void End(long index, bool isDone)
    {
        (long first, int count) = TakeOpen(index);
        for (long n = first; n < first + count; n++)
        {
            string? key = null;
            if (_openKeys is not null && !_openKeys.Remove(n, out key))
            {
                continue;
            }

            if (isDone && key is not null)
            {
                _done.Add(key);
            }
            else if (isDone)
            {
                _done.Add(PositionOf(n));
            }

            if (_followsItems)
            {
                _open!.Ended(key ?? Checkpoint.TextOf(PositionOf(n)));
            }
        }
    }

    private (long First, int Count) TakeOpen(long index)
    {
        if (_openBatches is null)
        {
            return (index, 1);
        }

        _openBatches.Remove(index, out (long First, int Count) batch);
        return batch;
    }

    private long PositionOf(long left)
    {
        if (_gaps.Length == 0)
        {
            return left;
        }

        int low = 0;
        int high = _gaps.Length - 1;
        while (low < high)
        {
            int middle = (low + high + 1) / 2;
            (low, high) = _gaps[middle].LeftBefore <= left ? (middle, high) : (low, middle - 1);
        }

        return _gaps[low].First + (left - _gaps[low].LeftBefore);
    }

    private void Tick()
    {
        if (_saving.Wait(0))
        {
            _ = TickAsync();
        }
    }

    private async Task TickAsync()
    {
        long start = _time.GetTimestamp();
        try
        {
            await SaveAsync(isEnd: false).ConfigureAwait(false);
        }
        catch (Exception e)
        {
            // The next item that is read throws it.
            _failure = e;
        }
        finally
        {
            _saving.Release();
        }

        // What is done just after a snapshot is safe at the end of the next save: after the wait and two saves. Saves take at most half of the time.
        TimeSpan wait = _time.GetElapsedTime(start);
        _timer!.Change(wait > _open!.Interval ? wait : _open.Interval, Timeout.InfiniteTimeSpan);
    }

    private async ValueTask SaveAsync(bool isEnd)
    {
        CheckpointText text;
        lock (_lock)
        {
            if (!_isChanged)
            {
                return;
            }

            _isChanged = false;
            bool isComplete = isEnd && _isWholeSourceRead && _openKeys is null && _done.IsAllBelow(_sourceLength);
            text = new CheckpointText(_source, isComplete, _openKeys is not null, _done.Snapshot());
        }

        try
        {
            await _open!.SaveAsync(text).ConfigureAwait(false);
        }
        catch (Exception e)
        {
            lock (_lock)
            {
                _isChanged = true;
            }

            throw new IOException(
                $"The checkpoint {_checkpoint.Store.Name} could not be saved, so the run has stopped: {e.Message.TrimEnd('.')}. The next run repeats what was done "
                    + "since the last save.",
                e);
        }
    }
}
