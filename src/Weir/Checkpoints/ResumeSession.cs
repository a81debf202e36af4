using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using System.Globalization;
using System.Runtime.CompilerServices;
using System.Text;
using Weir.Core;
using Weir.Core.Sources;

namespace Weir.Checkpoints;

// A run that goes on where another stopped.
//
// - The source is wrapped: items that are done already are dropped before the run sees them (Filter). So the run numbers only what is left. The n-th item that
//   was left is at position PositionOf(n) of the source, which follows from the ranges that were done at the start; with keys, each open item's key is kept.
// - An item is done after its success has reached the sink (ItemEnded), and in a stream after its consumer has come back for the next result: what waits for the
//   consumer when the process is killed must run again.
// - The ranges that are done are saved each second and at the end. A save takes its snapshot under the lock and writes outside it. Only one save runs at a time.
// - A save that fails becomes a failure of the source, which ends the run at its next item: going on would make what has to be repeated ever more.

/// <summary>What one run knows of its checkpoint.</summary>
[SuppressMessage("Usage", "CA2208:Instantiate argument exceptions correctly", Justification = "A wrong option is named after its property.")]
[SuppressMessage("Design", "CA1001:Types that own disposable fields should be disposable", Justification = "The semaphore has no handle, and a late tick still asks it.")]
internal sealed class ResumeSession : ILanes
{
    public const int MostKeys = 1_000_000;

    private static readonly TimeSpan Interval = TimeSpan.FromSeconds(1);

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
    private HashSet<string>? _doneBefore;
    private IDisposable? _held;
    private ITimer? _timer;

    // Of the reader of the source, one at a time.
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
        _held = _checkpoint.Store.Lock();
        try
        {
            string? known = _checkpoint.SourceText();
            _isSourceCertain = known is not null;
            _source = known ?? (_openKeys is null && Total is { } total ? $"{total.ToString(CultureInfo.InvariantCulture)} items" : "");
            if (await _checkpoint.Store.LoadAsync(cancellationToken).ConfigureAwait(false) is { } text)
            {
                Take(CheckpointText.Parse(text) ?? throw new InvalidOperationException(
                    $"{_checkpoint.Store.Name} is no checkpoint of Weir, or one of a later version: give the run another name, or delete it."));
            }

            _timer = _time.CreateTimer(static session => Unattended.Run((ResumeSession)session!, static session => session.Tick()), this, Interval, Interval);
        }
        catch
        {
            _held?.Dispose();
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
            _held?.Dispose();
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
            (long first, int count) = TakeOpen(index);
            for (long n = first; n < first + count; n++)
            {
                if (_openKeys is null)
                {
                    _done.Add(PositionOf(n));
                }
                else if (_openKeys.Remove(n, out string? key))
                {
                    _done.Add(key);
                }
            }

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
        _doneBefore = _openKeys is null ? null : _done.KeySet();
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
        }
        else
        {
            string key = ((Func<T, string>)_checkpoint.Key!)(item);
            isLeft = _doneBefore is null || !_doneBefore.Contains(key);
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
        lock (_lock)
        {
            if (_done.Keys + _openKeys!.Count >= MostKeys)
            {
                throw new InvalidOperationException(
                    $"The checkpoint {_checkpoint.Store.Name} would note more than {MostKeys:N0} keys: go by position, or split the source.");
            }

            _openKeys[_read] = key;
        }
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
        if (_openKeys is null && _openBatches is null)
        {
            return;
        }

        lock (_lock)
        {
            (long first, int count) = TakeOpen(index);
            for (long n = first; n < first + count; n++)
            {
                _openKeys?.Remove(n);
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
            await _checkpoint.Store.SaveAsync(text.ToString()).ConfigureAwait(false);
        }
        catch (Exception e)
        {
            lock (_lock)
            {
                _isChanged = true;
            }

            throw new IOException(
                $"The checkpoint {_checkpoint.Store.Name} could not be saved, so the run has stopped: {e.Message} The next run repeats what was done since the "
                    + "last save.",
                e);
        }
    }
}

/// <summary>A range of positions that are not done.</summary>
/// <param name="First">The first of them.</param>
/// <param name="End">The position after the last of them.</param>
/// <param name="LeftBefore">How many before it are not done.</param>
internal readonly record struct Gap(long First, long End, long LeftBefore);

/// <summary>The positions or keys that are done. Positions are ranges: the longest done prefix is the first of them.</summary>
internal sealed class DoneItems
{
    // What a million failures that are spread over a source would leave. Further ranges are not noted, so that their items run again.
    public const int MostRanges = 100_000;

    private static readonly Comparer<(long First, long End)> ByEnd = Comparer<(long First, long End)>.Create(static (a, b) => a.End.CompareTo(b.End));

    // Disjoint, not adjacent, in order.
    private readonly List<(long First, long End)> _ranges;

    // Only added to: a snapshot shares the array.
    private string[] _keys;

    public DoneItems()
        : this([], [], 0)
    {
    }

    public DoneItems(List<(long First, long End)> ranges, string[] keys, int keyCount)
    {
        _ranges = ranges;
        _keys = keys;
        Keys = keyCount;
    }

    /// <summary>How many keys there are.</summary>
    public int Keys { get; private set; }

    public long Count => Keys + _ranges.Sum(static range => range.End - range.First);

    public IReadOnlyList<(long First, long End)> Ranges => _ranges;

    public ReadOnlySpan<string> AllKeys => _keys.AsSpan(0, Keys);

    public void Add(string key)
    {
        if (Keys == _keys.Length)
        {
            Array.Resize(ref _keys, Math.Max(16, 2 * Keys));
        }

        _keys[Keys++] = key;
    }

    public void Add(long position)
    {
        // The first range that ends at the position or after it. Nearly always one of the last.
        int at = _ranges.Count > 0 && _ranges[^1].End < position ? _ranges.Count : _ranges.BinarySearch((0, position), ByEnd);
        at = at < 0 ? ~at : at;
        if (at == _ranges.Count || _ranges[at].First > position + 1)
        {
            if (_ranges.Count < MostRanges)
            {
                _ranges.Insert(at, (position, position + 1));
            }
        }
        else if (_ranges[at].First == position + 1)
        {
            _ranges[at] = (position, _ranges[at].End);
        }
        else if (_ranges[at].End == position)
        {
            if (at + 1 < _ranges.Count && _ranges[at + 1].First == position + 1)
            {
                _ranges[at] = (_ranges[at].First, _ranges[at + 1].End);
                _ranges.RemoveAt(at + 1);
            }
            else
            {
                _ranges[at] = (_ranges[at].First, position + 1);
            }
        }
    }

    /// <summary>Whether all positions below one are done.</summary>
    public bool IsAllBelow(long end) => end == 0 || (_ranges.Count > 0 && _ranges[0].First == 0 && _ranges[0].End >= end);

    public DoneItems Snapshot() => new([.. _ranges], _keys, Keys);

    public HashSet<string> KeySet() => new(_keys.Take(Keys), StringComparer.Ordinal);

    /// <summary>What is not done, up to the end of all positions; empty if nothing is done.</summary>
    public Gap[] Gaps()
    {
        if (_ranges.Count == 0)
        {
            return [];
        }

        List<Gap> gaps = [];
        long end = 0;
        long left = 0;
        foreach ((long first, long rangeEnd) in _ranges)
        {
            if (first > end)
            {
                gaps.Add(new Gap(end, first, left));
                left += first - end;
            }

            end = rangeEnd;
        }

        gaps.Add(new Gap(end, long.MaxValue, left));
        return [.. gaps];
    }
}

/// <summary>A checkpoint as it is saved: lines of text, whose last one says that it is whole.</summary>
internal sealed record CheckpointText(string Source, bool IsComplete, bool HasKeys, DoneItems Done)
{
    private const string Header = "weir checkpoint 1";
    private const string Footer = "end";

    public static CheckpointText? Parse(string text)
    {
        string[] lines = text.Split('\n');
        if (lines.Length < 6 || lines[0] != Header || lines[^1].Length > 0 || lines[^2] != Footer)
        {
            return null;
        }

        bool hasKeys = lines[3] == "by key";
        try
        {
            DoneItems done = hasKeys
                ? new DoneItems([], [.. lines[4..^2].Select(Unescaped)], lines.Length - 6)
                : new DoneItems([.. lines[4..^2].Select(RangeOf)], [], 0);
            return new CheckpointText(Unescaped(lines[1]), lines[2] == "complete", hasKeys, done);
        }
        catch (FormatException)
        {
            return null;
        }
    }

    public override string ToString()
    {
        StringBuilder text = new();
        text.Append(Header).Append('\n').Append(Escaped(Source)).Append('\n').Append(IsComplete ? "complete\n" : "unfinished\n");
        text.Append(HasKeys ? "by key\n" : "by position\n");
        foreach ((long first, long end) in Done.Ranges)
        {
            text.Append(CultureInfo.InvariantCulture, $"{first}-{end - 1}\n");
        }

        foreach (string key in Done.AllKeys)
        {
            text.Append(Escaped(key)).Append('\n');
        }

        return text.Append(Footer).Append('\n').ToString();
    }

    private static (long First, long End) RangeOf(string line)
    {
        string[] ends = line.Split('-');
        return ends.Length == 2
            ? (long.Parse(ends[0], NumberStyles.None, CultureInfo.InvariantCulture), long.Parse(ends[1], NumberStyles.None, CultureInfo.InvariantCulture) + 1)
            : throw new FormatException();
    }

    private static string Escaped(string text) => text.AsSpan().IndexOfAny('\\', '\n', '\r') < 0
        ? text
        : text.Replace("\\", "\\\\", StringComparison.Ordinal).Replace("\n", "\\n", StringComparison.Ordinal).Replace("\r", "\\r", StringComparison.Ordinal);

    private static string Unescaped(string line)
    {
        if (!line.Contains('\\', StringComparison.Ordinal))
        {
            return line;
        }

        StringBuilder text = new();
        for (int i = 0; i < line.Length; i++)
        {
            char next = line[i] == '\\' && i + 1 < line.Length ? line[++i] switch { 'n' => '\n', 'r' => '\r', var other => other } : line[i];
            text.Append(next);
        }

        return text.ToString();
    }
}
