namespace Weir.Delivery;

/// <summary>An item in the host: its batch, its place there, and its lane if it has an order.</summary>
internal readonly record struct WorkEntry<T, TResult>(TrackedBatch<T, TResult> Batch, int Index, Lane<T, TResult>? Lane)
{
    public WorkItem<T> Item => Batch.Batch.Items[Index];
}
