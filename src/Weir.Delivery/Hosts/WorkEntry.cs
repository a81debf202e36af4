namespace Weir.Delivery;

/// <summary>An item in the host: its batch, its place there, and the items of its key if it has an order.</summary>
internal readonly record struct WorkEntry<T, TResult>(TrackedBatch<T, TResult> Batch, int Index, KeyedItems<T, TResult>? KeyedItems)
{
    public WorkItem<T> Item => Batch.Batch.Items[Index];
}
