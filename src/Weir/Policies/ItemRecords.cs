using System.Collections.Concurrent;
using Weir.Core.Sinks;
using Weir.Resilience;

namespace Weir.Policies;

/// <summary>The records of a run's items that have begun and have no outcome yet. Only for runs whose options ask for something that needs them.</summary>
internal sealed class ItemRecords(TimeProvider time)
{
    private readonly ConcurrentDictionary<long, ItemRecord> _open = new();

    /// <summary>The record of an item whose attempt begins, which is new if it is the first.</summary>
    public ItemRecord Begin<TItem>(long index, TItem item) =>
        _open.TryGetValue(index, out ItemRecord? record) ? record : _open.GetOrAdd(index, new ItemRecord<TItem>(item, time.GetTimestamp()));

    /// <summary>The record of an item that has begun and has no outcome yet.</summary>
    public ItemRecord? Find(long index) => _open.GetValueOrDefault(index);

    /// <summary>Whether the records of failed items stay for a hook that takes them.</summary>
    public bool KeepsFailed { get; set; }

    /// <summary>What the caller is told of an item that has its outcome now.</summary>
    public ItemDetails DetailsOf(long index, Exception? error) =>
        _open.TryGetValue(index, out ItemRecord? record)
            ? new ItemDetails(index, record.Calls, time.GetElapsedTime(record.Started), error)
            : new ItemDetails(index, 0, TimeSpan.Zero, error);

    /// <summary>An item has its outcome.</summary>
    public void End(long index) => _open.TryRemove(index, out _);

    /// <summary>An item ended without a result.</summary>
    public void End(long index, ItemStatus status)
    {
        if (!KeepsFailed || status is not (ItemStatus.Failed or ItemStatus.TimedOut))
        {
            End(index);
        }
    }

    /// <summary>The record of a failed item, for its hook. One whose hook is not called, because the run has stopped, goes with the run.</summary>
    public ItemRecord? TakeFailed(long index) => _open.TryRemove(index, out ItemRecord? record) ? record : null;
}

/// <summary>What a run remembers of an item from its first attempt until its outcome.</summary>
/// <param name="started">When the run began with the item, as a timestamp of its clock.</param>
internal abstract class ItemRecord(long started)
{
    // Atomic: written by the attempt that runs, one at a time, and read by any thread that reports the item.
    private int _calls;
    private int _attempt = 1;
    private int _next = 1;

    public long Started => started;

    /// <summary>The retry budget of the item's key, from its first attempt on; null if there is none by key.</summary>
    public RetryBudget? Budget { get; set; }

    /// <summary>How often the item's call was made.</summary>
    public int Calls => Volatile.Read(ref _calls);

    /// <summary>The number of the attempt that runs or has ended last, from 1.</summary>
    public int Attempt => Volatile.Read(ref _attempt);

    /// <summary>The call is about to be made.</summary>
    public void CountCall() => Interlocked.Increment(ref _calls);

    /// <summary>An attempt begins, or begins again after it has waited for a policy.</summary>
    public void BeginAttempt() => Volatile.Write(ref _attempt, Volatile.Read(ref _next));

    /// <summary>The item waits for another attempt.</summary>
    public void Retries(int failed) => Volatile.Write(ref _next, failed + 1);
}

/// <summary>A record with its item.</summary>
internal sealed class ItemRecord<TItem>(TItem item, long started) : ItemRecord(started), IWithItem<TItem>
{
    public TItem Item => item;
}

/// <summary>Wraps a sink, and ends the records of items that have their outcome.</summary>
internal readonly struct RecordedSink<TResult, TSink>(TSink inner, ItemRecords records) : ISink<TResult>
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
        records.End(index);
    }

    public void Unsuccessful(long index, ItemStatus status, Exception? error)
    {
        _inner.Unsuccessful(index, status, error);
        records.End(index, status);
    }

    public void Complete(RunEnd end) => _inner.Complete(end);
}
