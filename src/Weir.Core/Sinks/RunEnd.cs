using System.Diagnostics;
using System.Globalization;
using System.Numerics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using Weir.Core.Sources;

namespace Weir.Core.Sinks;

/// <summary>What a run leaves behind at its end, from which its sink decides what the caller gets.</summary>
/// <remarks>Made once, by the thread that ends the run, when no item is in flight and none can start. Immutable but for the log, which has its own lock.</remarks>
/// <param name="Cancelled">The caller's token if the caller cancelled the run; otherwise null.</param>
/// <param name="Failures">The failures that count under the run's error mode, or null if there were none.</param>
/// <param name="Claimed">How many items were read from the source.</param>
/// <param name="LeftOver">Index ranges, in order, of items that were read and never ran.</param>
/// <param name="Deadline">What says that the run's own time limit passed, if that stopped it; otherwise null.</param>
internal readonly record struct RunEnd(
    CancellationToken? Cancelled,
    FailureLog? Failures,
    long Claimed,
    IEnumerable<(long First, int Count)> LeftOver,
    Exception? Deadline = null)
{
    // Fields, like the engine's other inner data.
    public readonly CancellationToken? Cancelled = Cancelled;
    public readonly FailureLog? Failures = Failures;
    public readonly long Claimed = Claimed;
    public readonly IEnumerable<(long First, int Count)> LeftOver = LeftOver;
    public readonly Exception? Deadline = Deadline;

    /// <summary>
    /// What the caller gets. It is decided here and nowhere else: a cancellation by the caller comes first, then the one exception that is thrown as it is,
    /// then all those that were collected.
    /// </summary>
    public RunResult Result =>
        Cancelled is not null ? RunResult.Cancelled
        : Failures is null ? RunResult.Completed
        : Failures.Single is not null ? RunResult.Failed
        : Failures.HasCollected ? RunResult.FailedInPart
        : RunResult.Completed;

    /// <summary>Whether the caller gets the results, alone or with the failures of the other items.</summary>
    public bool HasResults => Result is RunResult.Completed or RunResult.FailedInPart;

    /// <summary>
    /// The exception of a run that failed, for reports: the one that is thrown, or the first of those that were collected. Of a run that was stopped by its time
    /// limit, what says so, whether it is thrown or in the outcomes.
    /// </summary>
    public Exception? FirstError => Result switch
    {
        RunResult.Failed => Failures!.Single,
        RunResult.FailedInPart => Deadline ?? Failures!.Collected![0].Error,
        RunResult.Completed => Deadline,
        _ => null,
    };

    /// <summary>
    /// The end for a caller that gets no outcomes, which would say that the run's time limit passed: it gets that as an exception, in every error mode, and no
    /// results, as after a cancellation. Another end that came before stays.
    /// </summary>
    public RunEnd OrDeadline =>
        Deadline is null || !HasResults ? this : new RunEnd(null, FailureLog.Of(Deadline), Claimed, LeftOver);

    /// <summary>Whether items never ran.</summary>
    /// <param name="count">The number of items; negative for those that were read.</param>
    public bool HasNeverRun(int count) => Claimed < count || LeftOver != Source.NothingLeft;

    /// <summary>The indices of the items that never ran: first those that were read, each of the two in order.</summary>
    /// <inheritdoc cref="HasNeverRun"/>
    public IEnumerable<long> NeverRun(int count)
    {
        foreach ((long first, int length) in LeftOver)
        {
            for (long index = first; index < first + length; index++)
            {
                yield return index;
            }
        }

        for (long index = Claimed; index < count; index++)
        {
            yield return index;
        }
    }

    /// <summary>The end of a run that could not be completed properly, usually for lack of memory. Code that waits for the run gets the exception.</summary>
    public static RunEnd Broken(Exception error) => new(null, FailureLog.Of(error), 0, []);
}

/// <summary>What the caller of a run gets: see <see cref="RunEnd"/>.</summary>
internal enum RunResult
{
    /// <summary>The results.</summary>
    Completed,

    /// <summary>The cancellation that it asked for itself.</summary>
    Cancelled,

    /// <summary>One exception, as it is.</summary>
    Failed,

    /// <summary>All failures, with the results of the other items.</summary>
    FailedInPart,
}

/// <summary>
/// The failures of one run, and the only class that knows what an <see cref="ErrorMode"/> means. It has its own lock. It is not on a hot path,
/// because a run without failures never creates one.
/// </summary>
internal sealed class FailureLog(ErrorMode mode)
{
    private readonly Lock _lock = new();

    // Under _lock.
    private List<ItemFailure>? _all;
    private Exception? _sourceError;
    private Exception? _first;
    private long _firstIndex = -1;

    // Atomic: read by whoever looks.
    private volatile Exception? _last;

    /// <summary>A log of one failure, which is thrown as it is.</summary>
    public static FailureLog Of(Exception error)
    {
        FailureLog log = new(ErrorMode.FailFast);
        log.AddSource(error);
        return log;
    }

    /// <summary>The failure that was added last, for whoever looks.</summary>
    public Exception? Last => _last;

    /// <summary>Keeps as much of an item's failure as the mode requires, and the last one.</summary>
    /// <returns>Whether the run must stop.</returns>
    public bool AddItem(long index, Exception error)
    {
        _last = error;
        lock (_lock)
        {
            switch (mode)
            {
                case ErrorMode.FailFast:
                    if (_first is null)
                    {
                        _first = error;
                        _firstIndex = index;
                    }

                    return true;
                case ErrorMode.CollectAndContinue:
                    (_all ??= []).Add(new ItemFailure(index, error));
                    return false;
                default:
                    // An exception that nobody will read is not kept, apart from the last one.
                    return false;
            }
        }
    }

    /// <summary>Whether the run reports a failure that was added: under FailFast, only the first one.</summary>
    public bool Reports(long index, Exception error)
    {
        lock (_lock)
        {
            return mode != ErrorMode.FailFast || (_firstIndex == index && ReferenceEquals(_first, error));
        }
    }

    /// <summary>Keeps a failure of the source itself, which ends the run in every mode.</summary>
    public void AddSource(Exception error)
    {
        _last = error;
        lock (_lock)
        {
            _first ??= error;
            _sourceError ??= error;
            if (mode == ErrorMode.CollectAndContinue)
            {
                (_all ??= []).Add(new ItemFailure(-1, error));
            }
        }
    }

    /// <summary>The exception to throw, unwrapped: the first error under FailFast, a source's error under BestEffort.</summary>
    public Exception? Single
    {
        get
        {
            lock (_lock)
            {
                return mode switch
                {
                    ErrorMode.FailFast => _first,
                    ErrorMode.BestEffort => _sourceError,
                    _ => null,
                };
            }
        }
    }

    /// <summary>Whether there are failures to report together.</summary>
    public bool HasCollected
    {
        get
        {
            lock (_lock)
            {
                return _all is not null;
            }
        }
    }

    /// <summary>All failures in source order (a failure of the source itself comes last), or null if there are none to report.</summary>
    public IReadOnlyList<ItemFailure>? Collected
    {
        get
        {
            lock (_lock)
            {
                if (_all is null)
                {
                    return null;
                }

                Debug.Assert(mode == ErrorMode.CollectAndContinue, "Only this mode collects.");
                _all.Sort(static (a, b) => unchecked((ulong)a.Index).CompareTo(unchecked((ulong)b.Index)));
                return _all.ToArray();
            }
        }
    }
}

/// <summary>The errors of items that were given up because a time limit passed.</summary>
internal static class TimeLimit
{
    /// <summary>The item's own limit passed.</summary>
    /// <param name="limit">The limit.</param>
    /// <param name="index">The item's index, if the message is to tell it.</param>
    public static Exception OfItem(TimeSpan limit, long? index = null) => Passed(new ItemTimeoutException(limit, index));

    /// <summary>The limit of the whole call passed.</summary>
    public static Exception OfRun(TimeSpan limit) => Passed(new RunTimeoutException(limit));

    private static TaskCanceledException Passed(TimeoutException reason) => new(reason.Message, reason);
}

/// <summary>
/// Receives the outcomes of a run. It is a struct, passed as a type parameter. The calls for different items come from several threads at once,
/// exactly one call for each item that was claimed and not given back.
/// </summary>
internal interface ISink<TResult>
{
    /// <summary>Whether results are stored in memory by index, so that a worker can store those of a chunk there itself.</summary>
    bool HasSlots { get; }

    /// <summary>Items at or beyond this index may not start yet.</summary>
    long Ceiling { get; }

    /// <summary>The slots for the results of a chunk, if there are slots. Valid until the next suspension.</summary>
    Span<TResult> Slots(long first, int count);

    /// <summary>Whether a worker that runs several items at once stores their results in a chunk, which is cheaper than one by one.</summary>
    bool HasChunks { get; }

    /// <summary>Prepares for the results of several items that one worker runs at once. Only for sinks with chunks, as the next two.</summary>
    /// <param name="chunk">The chunk that the worker holds.</param>
    /// <param name="first">The index of the first item.</param>
    /// <param name="count">How many there are.</param>
    /// <returns>For how many of them the results may be stored in the chunk, in their order.</returns>
    int Open(ref ResultChunk? chunk, long first, int count) => throw new UnreachableException();

    void Store(ResultChunk chunk, long index, TResult result) => throw new UnreachableException();

    /// <summary>The worker stores nothing more in the chunk that it holds, if it holds one.</summary>
    void Close(ref ResultChunk? chunk) => throw new UnreachableException();

    /// <summary>Waits some microseconds for the consumer to make room.</summary>
    /// <returns>Whether an item with this index may start.</returns>
    bool WaitForRoom(long index) => throw new UnreachableException();

    /// <summary>How many ended items have a result that has not been taken yet. For statistics.</summary>
    long Undelivered(long ended);

    void Succeeded(long index, TResult result);

    /// <summary>An item ended without a result.</summary>
    void Unsuccessful(long index, ItemStatus status, Exception? error);

    /// <summary>
    /// The run has ended. No other call follows this one, unless it throws. Then it is called once more, with <see cref="RunEnd.Broken"/>, so that code that
    /// waits for the run learns of it.
    /// </summary>
    void Complete(RunEnd end);
}

/// <summary>A chunk of results, as a worker holds it that fills it.</summary>
internal abstract class ResultChunk
{
    /// <summary>How many items a worker must have before it opens a chunk for them.</summary>
    public const int Several = 8;
}

/// <summary>The result of a call that has none.</summary>
internal readonly struct Nothing;

/// <summary>Keeps no results, only the end of the run, for calls that have none.</summary>
internal readonly struct DiscardSink(TaskCompletionSource completion) : ISink<Nothing>
{
    private readonly TaskCompletionSource _completion = completion;

    public bool HasSlots => false;

    public bool HasChunks => false;

    public long Ceiling => long.MaxValue;

    public Span<Nothing> Slots(long first, int count) => default;

    public long Undelivered(long ended) => 0;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Succeeded(long index, Nothing result)
    {
    }

    public void Unsuccessful(long index, ItemStatus status, Exception? error)
    {
    }

    public void Complete(RunEnd end)
    {
        end = end.OrDeadline;
        switch (end.Result)
        {
            case RunResult.Cancelled:
                _completion.TrySetCanceled(end.Cancelled!.Value);
                break;
            case RunResult.Failed:
                _completion.TrySetException(end.Failures!.Single!);
                break;
            case RunResult.FailedInPart:
                _completion.TrySetException(new ItemsFailedException(end.Failures!.Collected!));
                break;
            default:
                _completion.TrySetResult();
                break;
        }
    }
}

/// <summary>Stores results directly in the list that the caller gets, for a source whose count is known.</summary>
internal readonly struct ListSink<TResult>(ListCompletion<TResult> completion) : ISink<TResult>
{
    private readonly ListCompletion<TResult> _completion = completion;
    private readonly List<TResult> _list = completion.List;

    public bool HasSlots => true;

    public bool HasChunks => false;

    public long Ceiling => long.MaxValue;

    // The list's own storage is the slot array. No other code has the list yet, and its full length was set before the start.
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public Span<TResult> Slots(long first, int count) => CollectionsMarshal.AsSpan(_list).Slice((int)first, count);

    public long Undelivered(long ended) => 0;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Succeeded(long index, TResult result) => CollectionsMarshal.AsSpan(_list)[(int)index] = result;

    public void Unsuccessful(long index, ItemStatus status, Exception? error) => _completion.Skip(index);

    public void Complete(RunEnd end) => _completion.Complete(end);
}

/// <summary>The end of a run whose results go to a list: closes the gaps of failed items and completes the caller's task.</summary>
internal class ListCompletion<TResult> : TaskCompletionSource<List<TResult>>
{
    private List<long>? _skipped;

    public ListCompletion(int count)
    {
        List = new List<TResult>(count);
        CollectionsMarshal.SetCount(List, count);
    }

    /// <summary>The results; after the completion, those that the caller gets.</summary>
    public List<TResult> List;

    /// <summary>Records that an item has no result.</summary>
    public void Skip(long index)
    {
        List<long>? skipped = Volatile.Read(ref _skipped);
        if (skipped is null)
        {
            List<long> made = [];
            skipped = Interlocked.CompareExchange(ref _skipped, made, null) ?? made;
        }

        lock (skipped)
        {
            skipped.Add(index);
        }
    }

    /// <summary>Completes the caller's task.</summary>
    /// <param name="end">The end of the run.</param>
    /// <param name="segments">The results, if the count was not known. They are joined only if they are returned.</param>
    public void Complete(RunEnd end, Segments<TResult>? segments = null)
    {
        end = end.OrDeadline;
        if (end.HasResults)
        {
            Gather(end, segments);
            if (end.Result == RunResult.FailedInPart)
            {
                TrySetException(new ItemsFailedException<TResult>(end.Failures!.Collected!, List));
            }
            else
            {
                TrySetResult(List);
            }
        }
        else
        {
            CompleteWithoutResults(end, segments);
        }
    }

    /// <summary>Completes the caller's task where the caller gets no result.</summary>
    protected virtual void CompleteWithoutResults(RunEnd end, Segments<TResult>? segments)
    {
        if (end.Result == RunResult.Cancelled)
        {
            TrySetCanceled(end.Cancelled!.Value);
        }
        else
        {
            TrySetException(end.Failures!.Single!);
        }
    }

    /// <summary>Makes the list one of the results, and of nothing else.</summary>
    protected void Gather(RunEnd end, Segments<TResult>? segments)
    {
        List = segments?.ToList(end.Claimed) ?? List;
        if (_skipped is not null || end.Claimed != List.Count || !ReferenceEquals(end.LeftOver, Source.NothingLeft))
        {
            CloseGaps(end);
        }
    }

    private void CloseGaps(RunEnd end)
    {
        List<long> gaps = _skipped ?? [];
        foreach ((long first, int count) in end.LeftOver)
        {
            for (int i = 0; i < count; i++)
            {
                gaps.Add(first + i);
            }
        }

        if (gaps.Count > 0)
        {
            gaps.Sort();
            Span<TResult> slots = CollectionsMarshal.AsSpan(List);
            int to = (int)Math.Min(gaps[0], end.Claimed);
            int gap = 0;
            for (int from = to; from < end.Claimed; from++)
            {
                if (gap < gaps.Count && gaps[gap] == from)
                {
                    gap++;
                    continue;
                }

                slots[to++] = slots[from];
            }

            List.RemoveRange(to, List.Count - to);
        }
        else if (end.Claimed < List.Count)
        {
            List.RemoveRange((int)end.Claimed, (int)(List.Count - end.Claimed));
        }
    }
}

/// <summary>Stores results by index for a source of unknown count, in segments that never move and are joined into the list at the end.</summary>
internal readonly struct GrowingListSink<TResult>(ListCompletion<TResult> completion) : ISink<TResult>
{
    private readonly ListCompletion<TResult> _completion = completion;
    private readonly Segments<TResult> _segments = new();

    public bool HasSlots => false;

    public bool HasChunks => false;

    // Not the most that a list may have: the run would wait there for room, and says at its end, or earlier, that there are too many.
    public long Ceiling => long.MaxValue;

    public Span<TResult> Slots(long first, int count) => default;

    public long Undelivered(long ended) => 0;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Succeeded(long index, TResult result) => _segments[index] = result;

    public void Unsuccessful(long index, ItemStatus status, Exception? error) => _completion.Skip(index);

    public void Complete(RunEnd end) => _completion.Complete(end, _segments);
}

/// <summary>
/// An array that grows while several threads write to different indices. Each segment is twice as long as the previous one and
/// never moves, so that a write needs no lock.
/// </summary>
internal sealed class Segments<T>
{
    private const int FirstBits = 5;
    private const int First = 1 << FirstBits;
    private const int FirstOfLarge = 8;

    // The last one that an array can be. The first index behind it is larger than that of any list.
    private const int Last = 30 - FirstBits;

    private static readonly Lock s_growing = new();

    private readonly T[]?[] _segments = new T[32 - FirstBits][];

    public T this[long index]
    {
        get
        {
            (int segment, uint offset) = Locate(index);
            return Volatile.Read(ref _segments[segment])![offset];
        }

        set
        {
            (int segment, uint offset) = Locate(index);
            T[] array = Volatile.Read(ref _segments[segment]) ?? Add(segment);
            array[offset] = value;
        }
    }

    /// <summary>The first <paramref name="count"/> values; those never written have the default value.</summary>
    /// <exception cref="InvalidOperationException">No list can hold as many.</exception>
    public List<T> ToList(long count)
    {
        int length = LengthOf(count);
        List<T> list = new(length);
        CollectionsMarshal.SetCount(list, length);
        CopyTo(CollectionsMarshal.AsSpan(list));
        return list;
    }

    /// <summary>The first <paramref name="count"/> values as an array; those never written have the default value.</summary>
    /// <exception cref="InvalidOperationException">No array can hold as many.</exception>
    public T[] ToArray(long count)
    {
        T[] array = new T[LengthOf(count)];
        CopyTo(array);
        return array;
    }

    // Segment s covers [First * (2^s - 1), First * (2^(s+1) - 1)).
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static (int Segment, uint Offset) Locate(long index)
    {
        uint shifted = (uint)index + First;
        int segment = BitOperations.Log2(shifted) - FirstBits;
        return (segment, shifted - ((uint)First << segment));
    }

    private static int LengthOf(long count) => count <= Array.MaxLength ? (int)count : throw TooMany();

    private static InvalidOperationException TooMany()
    {
        string most = Array.MaxLength.ToString("N0", CultureInfo.InvariantCulture);
        return new InvalidOperationException(
            $"The source has more than {most} items, and no list or array can hold as many results: take them as a stream "
            + "(SelectParallelStreamAsync, SelectParallelOutcomesStreamAsync).");
    }

    private void CopyTo(Span<T> left)
    {
        for (int segment = 0; left.Length > 0; segment++)
        {
            int length = Math.Min(left.Length, First << segment);
            _segments[segment]?.AsSpan(0, length).CopyTo(left);
            left = left[length..];
        }
    }

    private T[] Add(int segment)
    {
        if (segment > Last)
        {
            throw TooMany();
        }

        if (segment < FirstOfLarge)
        {
            T[] added = new T[First << segment];
            return Interlocked.CompareExchange(ref _segments[segment], added, null) ?? added;
        }

        // Of a large one, nobody makes a second only to throw it away: there may be room for one.
        lock (s_growing)
        {
            if (_segments[segment] is not { } array)
            {
                array = new T[First << segment];
                Volatile.Write(ref _segments[segment], array);
            }

            return array;
        }
    }
}

/// <summary>Disposes of the results of a run that failed or was cancelled, before the caller's task ends.</summary>
internal sealed class OwningListCompletion<TResult>(int count, UnusedResults<TResult> unused) : ListCompletion<TResult>(count)
{
    protected override void CompleteWithoutResults(RunEnd end, Segments<TResult>? segments)
    {
        Gather(end, segments);
        Task disposing = unused.DisposeAsync(CollectionsMarshal.AsSpan(List));
        if (disposing.IsCompleted)
        {
            base.CompleteWithoutResults(end, segments);
        }
        else
        {
            disposing.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(() => base.CompleteWithoutResults(end, segments));
        }
    }
}

/// <summary>Disposes of the results of a run that its caller does not get, each once. Only for runs whose caller asked for it.</summary>
/// <param name="resultOf">The result in what the run passes on; null if there is none.</param>
/// <param name="patience">How long the end of the run waits for the disposals; null for as long as they take.</param>
/// <param name="time">The clock for it.</param>
internal sealed class UnusedResults<T>(Func<T, object?> resultOf, TimeSpan? patience, TimeProvider time)
{
    /// <summary>Adds the disposable ones of some results. One that is there several times is added once.</summary>
    public void Add(ref HashSet<object>? unused, ReadOnlySpan<T> results)
    {
        foreach (T result in results)
        {
            if (DiscardedResult.DisposableOf(resultOf(result)) is { } disposable)
            {
                (unused ??= new HashSet<object>(ReferenceEqualityComparer.Instance)).Add(disposable);
            }
        }
    }

    /// <summary>Disposes of results, and waits for it, but no longer than the run waits for an item.</summary>
    public Task DisposeAsync(ReadOnlySpan<T> results)
    {
        HashSet<object>? unused = null;
        Add(ref unused, results);
        return DisposeAsync(unused);
    }

    /// <summary>Disposes of results that were added, and waits for it, but no longer than the run waits for an item.</summary>
    public Task DisposeAsync(HashSet<object>? unused) => unused is null ? Task.CompletedTask : DropAllAsync(unused);

    private async Task DropAllAsync(HashSet<object> unused)
    {
        // On a thread of its own: one that blocks must not hold the run for longer than its rule says.
        Task dropping = Task.Run(() => DropEachAsync(unused));
        try
        {
            await (patience is { } limit ? dropping.WaitAsync(limit, time) : dropping).ConfigureAwait(false);
        }
        catch (TimeoutException)
        {
            // The rest goes on alone.
        }
    }

    /// <summary>Begins all before it waits for any: one that hangs holds up no other.</summary>
    private static Task DropEachAsync(HashSet<object> unused)
    {
        List<Task> open = [];
        foreach (object result in unused)
        {
            Task dropping = DiscardedResult.DropAsync(result);
            if (!dropping.IsCompleted)
            {
                open.Add(dropping);
            }
        }

        return Task.WhenAll(open);
    }
}

/// <summary>Wraps a sink and notifies the lanes when an item has ended.</summary>
internal readonly struct LaneSink<TResult, TSink>(TSink inner, ILanes lanes) : ISink<TResult>
    where TSink : struct, ISink<TResult>
{
    private readonly TSink _inner = inner;

    public bool HasSlots => false;

    public bool HasChunks => false;

    public long Ceiling => _inner.Ceiling;

    public long Undelivered(long ended) => _inner.Undelivered(ended);

    public Span<TResult> Slots(long first, int count) => default;

    public void Succeeded(long index, TResult result)
    {
        _inner.Succeeded(index, result);
        lanes.ItemEnded(index);
    }

    public void Unsuccessful(long index, ItemStatus status, Exception? error)
    {
        _inner.Unsuccessful(index, status, error);
        lanes.ItemEnded(index, status == ItemStatus.Cancelled ? ItemEnd.Cancelled : ItemEnd.Failed);
    }

    public void Complete(RunEnd end) => _inner.Complete(end);
}
