namespace Weir.Delivery;

/// <summary>The batches that were read but not acknowledged, in the order of delivery. Guarded by the lock of the run.</summary>
internal sealed class BatchWindow<T, TResult>(AcknowledgementOrder order)
{
    private readonly LinkedList<TrackedBatch<T, TResult>> _batches = new();

    public int Count => _batches.Count;

    /// <summary>The items of all batches here; an empty batch counts as one.</summary>
    public long Items { get; private set; }

    /// <summary>When the oldest batch here was read; null if there is none.</summary>
    public long? OldestReadAt => _batches.First?.Value.ReadAt;

    public static int SizeOf(WorkBatch<T> batch) => Math.Max(1, batch.Items.Count);

    public void Add(TrackedBatch<T, TResult> batch)
    {
        _batches.AddLast(batch);
        Items += SizeOf(batch.Batch);
    }

    /// <summary>Copies the batches that can be acknowledged: all that are done, or, in order, those up to the first that is not done.</summary>
    /// <remarks>They stay until <see cref="Remove"/>, so that they count for as long as they use memory.</remarks>
    public List<TrackedBatch<T, TResult>> Acknowledgeable()
    {
        List<TrackedBatch<T, TResult>> done = [];
        foreach (TrackedBatch<T, TResult> batch in _batches)
        {
            if (batch.IsDone)
            {
                done.Add(batch);
            }
            else if (order == AcknowledgementOrder.Delivery)
            {
                break;
            }
        }

        return done;
    }

    public void Remove(IReadOnlyCollection<TrackedBatch<T, TResult>> batches)
    {
        HashSet<TrackedBatch<T, TResult>> gone = [.. batches];
        for (LinkedListNode<TrackedBatch<T, TResult>>? node = _batches.First; node is not null && gone.Count > 0;)
        {
            LinkedListNode<TrackedBatch<T, TResult>>? next = node.Next;
            if (gone.Remove(node.Value))
            {
                Items -= SizeOf(node.Value.Batch);
                _batches.Remove(node);
            }

            node = next;
        }
    }

    public List<TrackedBatch<T, TResult>> All() => [.. _batches];
}
