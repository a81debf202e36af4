namespace Weir.Delivery;

/// <summary>The batches that were read but not acknowledged, in the order of delivery. Guarded by the lock of the run.</summary>
internal sealed class BatchWindow<T, TResult>(AcknowledgementOrder order)
{
    private readonly LinkedList<TrackedBatch<T, TResult>> _batches = new();
    private List<TrackedBatch<T, TResult>> _done = [];
    private long _last;

    public int Count => _batches.Count;

    /// <summary>The items of all batches here; an empty batch counts as one.</summary>
    public long Items { get; private set; }

    /// <summary>When the oldest batch here was read; null if there is none.</summary>
    public long? OldestReadAt => _batches.First?.Value.ReadAt;

    public static int SizeOf(WorkBatch<T> batch) => Math.Max(1, batch.Items.Count);

    public void Add(TrackedBatch<T, TResult> batch)
    {
        Items += SizeOf(batch.Batch);
        batch.Enter(_batches.AddLast(batch), ++_last, this);
    }

    /// <summary>Returns the batches that can be acknowledged: all that are done, or, in order, those up to the first that is not done.</summary>
    /// <remarks>
    /// They stay until <see cref="Remove"/>, so that they count for as long as they use memory. In any order, each is returned only once. Neither looks at
    /// batches that cannot be acknowledged, of which there may be thousands behind a slow item.
    /// </remarks>
    public List<TrackedBatch<T, TResult>> Acknowledgeable()
    {
        List<TrackedBatch<T, TResult>> done = [];
        if (order == AcknowledgementOrder.Any)
        {
            (done, _done) = (_done, done);
            done.Sort(static (a, b) => a.Number.CompareTo(b.Number));
            return done;
        }

        for (LinkedListNode<TrackedBatch<T, TResult>>? node = _batches.First; node is { Value.IsDone: true }; node = node.Next)
        {
            done.Add(node.Value);
        }

        return done;
    }

    public void Remove(IReadOnlyCollection<TrackedBatch<T, TResult>> batches)
    {
        foreach (TrackedBatch<T, TResult> batch in batches)
        {
            Items -= SizeOf(batch.Batch);
            _batches.Remove(batch.Node!);
        }
    }

    /// <summary>Forgets all batches, at the end of the host.</summary>
    public void Clear()
    {
        Items = 0;
        _batches.Clear();
        _done.Clear();
    }

    public List<TrackedBatch<T, TResult>> All() => [.. _batches];

    /// <summary>The batches in which items are done and others are not, if the source has not acknowledged these items.</summary>
    public List<TrackedBatch<T, TResult>> DoneInPart() => [.. _batches.Where(static b => !b.IsDone && b.Settled > b.AcknowledgedItems)];

    /// <summary>Called once when all items of a batch that is here are done.</summary>
    public void Complete(TrackedBatch<T, TResult> batch)
    {
        if (order == AcknowledgementOrder.Any)
        {
            _done.Add(batch);
        }
    }
}
