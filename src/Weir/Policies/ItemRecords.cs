using System.Collections.Concurrent;

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
