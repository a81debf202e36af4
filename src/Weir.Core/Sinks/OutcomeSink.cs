using System.Runtime.CompilerServices;
using Weir.Core.Sources;

namespace Weir.Core.Sinks;

// Outcomes have their item, and the loops over the items know nothing of it. OutcomeMaker makes the outcomes of a run: it reads the item of an array or a list
// again; of any other source it takes what ItemsRead has kept since the item was read, for all outcomes until the end, in a stream until the outcome leaves.

/// <summary>Stores one outcome per item, by index, for a source whose count is known.</summary>
internal readonly struct OutcomeSink<TItem, TResult>(
    OutcomeCompletion<TItem, TResult> completion, OutcomeMaker<TItem, TResult> maker = default) : ISink<TResult>
{
    private readonly OutcomeCompletion<TItem, TResult> _completion = completion;
    private readonly ItemOutcome<TItem, TResult>[] _outcomes = completion.Outcomes;
    private readonly OutcomeMaker<TItem, TResult> _maker = maker;

    public bool HasSlots => false;

    public bool HasChunks => false;

    public long Ceiling => long.MaxValue;

    public Span<TResult> Slots(long first, int count) => default;

    public long Undelivered(long ended) => 0;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Succeeded(long index, TResult result) => _outcomes[index] = _maker.Success(index, result);

    public void Unsuccessful(long index, ItemStatus status, Exception? error) => _outcomes[index] = _maker.Without(index, status, error);

    public void Complete(RunEnd end)
    {
        if (end.HasNeverRun(_outcomes.Length) && _completion.Returns(end))
        {
            foreach (long index in end.NeverRun(_outcomes.Length))
            {
                Unsuccessful(index, ItemStatus.NotRun, end.Deadline);
            }
        }

        _completion.Complete(end);
    }
}

/// <summary>The end of a run whose caller gets each outcome. An item's failure is not thrown, but a failure of the source is.</summary>
/// <param name="count">How many items there are; 0 if that is not known.</param>
/// <param name="returnsWhenCancelled">Whether a run that its caller cancels returns the outcomes it has, instead of throwing.</param>
internal class OutcomeCompletion<TItem, TResult>(int count, bool returnsWhenCancelled = false) : TaskCompletionSource<ItemOutcome<TItem, TResult>[]>
{
    public ItemOutcome<TItem, TResult>[] Outcomes = count > 0 ? new ItemOutcome<TItem, TResult>[count] : [];

    /// <summary>Whether the caller gets outcomes.</summary>
    public bool Returns(RunEnd end) => end.HasResults || (returnsWhenCancelled && end.Result == RunResult.Cancelled);

    /// <summary>Completes with outcomes that are stored elsewhere. They are collected only if they are returned.</summary>
    public void Complete<TState>(RunEnd end, TState state, Func<RunEnd, TState, ItemOutcome<TItem, TResult>[]> gather)
    {
        if (UsesOutcomes(end))
        {
            Outcomes = gather(end, state);
        }

        Complete(end);
    }

    public void Complete(RunEnd end)
    {
        if (Returns(end))
        {
            TrySetResult(Outcomes);
        }
        else
        {
            CompleteWithoutOutcomes(end);
        }
    }

    /// <summary>Whether anybody needs the outcomes.</summary>
    protected virtual bool UsesOutcomes(RunEnd end) => Returns(end);

    /// <summary>Completes the caller's task where the caller gets no outcome.</summary>
    protected virtual void CompleteWithoutOutcomes(RunEnd end)
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
}

/// <summary>Stores one outcome per item, by index, for a source whose count is not known before the end.</summary>
internal readonly struct GrowingOutcomeSink<TItem, TResult>(
    OutcomeCompletion<TItem, TResult> completion, OutcomeMaker<TItem, TResult> maker = default) : ISink<TResult>
{
    private readonly OutcomeCompletion<TItem, TResult> _completion = completion;
    private readonly OutcomeMaker<TItem, TResult> _maker = maker;
    private readonly Segments<ItemOutcome<TItem, TResult>> _segments = new();

    public bool HasSlots => false;

    public bool HasChunks => false;

    // Not the most that a list may have: the run would wait there for room, and says at its end, or earlier, that there are too many.
    public long Ceiling => long.MaxValue;

    public Span<TResult> Slots(long first, int count) => default;

    public long Undelivered(long ended) => 0;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Succeeded(long index, TResult result) => _segments[index] = _maker.Success(index, result);

    public void Unsuccessful(long index, ItemStatus status, Exception? error) => _segments[index] = _maker.Without(index, status, error);

    public void Complete(RunEnd end)
    {
        if (end.HasNeverRun(-1) && _completion.Returns(end))
        {
            foreach (long index in end.NeverRun(-1))
            {
                Unsuccessful(index, ItemStatus.NotRun, end.Deadline);
            }
        }

        _completion.Complete(end, _segments, static (end, segments) => segments.ToArray(end.Claimed));
    }
}

/// <summary>Disposes of the results of a run whose caller gets no outcomes, before the caller's task ends.</summary>
internal sealed class OwningOutcomeCompletion<TItem, TResult>(int count, bool returnsWhenCancelled, UnusedResults<ItemOutcome<TItem, TResult>> unused)
    : OutcomeCompletion<TItem, TResult>(count, returnsWhenCancelled)
{
    protected override bool UsesOutcomes(RunEnd end) => true;

    protected override void CompleteWithoutOutcomes(RunEnd end)
    {
        Task disposing = unused.DisposeAsync(Outcomes);
        if (disposing.IsCompleted)
        {
            base.CompleteWithoutOutcomes(end);
        }
        else
        {
            disposing.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(() => base.CompleteWithoutOutcomes(end));
        }
    }
}

/// <summary>Makes the outcomes of a run, each with its item. The default one, for tests, knows no items.</summary>
/// <remarks>It changes nothing in the loop over the items: an item in memory is read again, and any other is kept when it is read.</remarks>
internal readonly struct OutcomeMaker<TItem, TResult>
{
    private readonly IndexedSource<TItem>? _memory;
    private readonly ItemsRead<TItem>? _read;
    private readonly Func<long, Exception?, ItemDetails>? _details;

    /// <param name="source">The source of the run, which has not begun.</param>
    /// <param name="keepsAll">Whether all outcomes are kept until the end.</param>
    /// <param name="details">Makes the details of an item that has its outcome now; null if nobody asks for them.</param>
    public OutcomeMaker(Source<TItem> source, bool keepsAll, Func<long, Exception?, ItemDetails>? details = null)
    {
        _details = details;
        _memory = source.InMemory;
        if (_memory is null)
        {
            source.Keeper = _read = new ItemsRead<TItem>(source, keepsAll ? new Segments<TItem>() : null);
        }
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public ItemOutcome<TItem, TResult> Success(long index, TResult result) =>
        new(ItemAt(index), result, _details?.Invoke(index, null), ItemStatus.Succeeded);

    public ItemOutcome<TItem, TResult> Without(long index, ItemStatus status, Exception? error) =>
        new(ItemAt(index), default, _details is null ? error : _details(index, error), status);

    /// <summary>Reads what the run did not come to, which may run code of the user.</summary>
    /// <param name="first">Its index.</param>
    public void ReadRest(long first) => _ = ItemAt(first);

    private TItem ItemAt(long index) => (_memory is { } memory ? memory.At(index) : _read is { } read ? read.Take(index) : default)!;
}

/// <summary>The items that a run has read from a source that is not in memory by index, until their outcomes take them.</summary>
/// <param name="source">The source.</param>
/// <param name="all">Where they are until the end, if all outcomes are; null if the outcomes leave one by one.</param>
internal sealed class ItemsRead<T>(Source<T> source, Segments<T>? all) : IItemKeeper<T>
{
    private readonly Lock _lock = new();

    // Those without an outcome: no more than are between the source and its consumer.
    private readonly Dictionary<long, T>? _open = all is null ? [] : null;
    private long _read;

    public void Add(long index, T item)
    {
        if (_open is null)
        {
            all![index] = item;
        }
        else
        {
            lock (_lock)
            {
                _open.Add(index, item);
            }
        }

        Volatile.Write(ref _read, index + 1);
    }

    /// <summary>The item at an index, once.</summary>
    public T? Take(long index)
    {
        if (index >= Volatile.Read(ref _read))
        {
            return source.UnreadAt(index);
        }

        if (_open is null)
        {
            return all![index];
        }

        lock (_lock)
        {
            _open.Remove(index, out T? item);
            return item;
        }
    }
}

/// <summary>Passes outcomes with their index to the consumer of a stream. Every item has one, including items without a result.</summary>
internal readonly struct OutcomeStreamSink<TItem, TResult> : ISink<TResult>
{
    private readonly StreamOutput<(int Index, ItemOutcome<TItem, TResult> Outcome)> _output;
    private readonly OutcomeMaker<TItem, TResult> _maker;
    private readonly int _count;

    /// <param name="output">The stream.</param>
    /// <param name="count">The number of items; negative for those that are read.</param>
    /// <param name="maker">Makes the outcomes.</param>
    public OutcomeStreamSink(
        StreamOutput<(int Index, ItemOutcome<TItem, TResult> Outcome)> output, int count, OutcomeMaker<TItem, TResult> maker)
    {
        _output = output;
        _maker = maker;
        _count = count;
        output.Missing = (count, (index, deadline) => (IndexOf(index), maker.Without(index, ItemStatus.NotRun, deadline)));
    }

    public bool HasSlots => false;

    public bool HasChunks => true;

    public long Ceiling
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => _output.Ceiling;
    }

    public Span<TResult> Slots(long first, int count) => default;

    public long Undelivered(long ended) => 0;

    public int Open(ref ResultChunk? chunk, long first, int count) => _output.Open(ref chunk, first, count);

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Store(ResultChunk chunk, long index, TResult result) =>
        Unsafe.As<ResultChunk<(int Index, ItemOutcome<TItem, TResult> Outcome)>>(chunk).Store(index, (IndexOf(index), _maker.Success(index, result)));

    public void Close(ref ResultChunk? chunk) => _output.Close(ref chunk);

    public bool WaitForRoom(long index) => _output.WaitForRoom(index);

    public void Succeeded(long index, TResult result) => _output.Add(index, (IndexOf(index), _maker.Success(index, result)));

    public void Unsuccessful(long index, ItemStatus status, Exception? error) => _output.Add(index, (IndexOf(index), _maker.Without(index, status, error)));

    public void Complete(RunEnd end)
    {
        // Not later: the outcomes of items that never ran are made under the lock of the stream.
        if (end.Claimed < _count && end.HasResults && !_output.IsLeft)
        {
            _maker.ReadRest(end.Claimed);
        }

        _output.Complete(end);
    }

    // Only an endless stream gets above.
    private static int IndexOf(long index) => (int)Math.Min(index, int.MaxValue);
}
