namespace Weir.Delivery;

/// <summary>The items that a source delivers, and that are acknowledged, together: a message, a transaction, or some leased rows.</summary>
/// <typeparam name="T">The type of the items' values.</typeparam>
/// <remarks>Sources derive from this class to add the data that they need to acknowledge a batch. The items of a batch do not change.</remarks>
public class WorkBatch<T>
{
    /// <summary>Creates a batch.</summary>
    /// <param name="items">The items, in order. If empty, there is only a position to acknowledge.</param>
    /// <param name="position">The position of the batch in the source. Checkpoints store it, if the source has checkpoints.</param>
    /// <exception cref="ArgumentNullException">An argument is <see langword="null"/>.</exception>
    public WorkBatch(IReadOnlyList<WorkItem<T>> items, string position)
    {
        ArgumentNullException.ThrowIfNull(items);
        ArgumentNullException.ThrowIfNull(position);
        Items = items;
        Position = position;
    }

    /// <summary>The items, in order.</summary>
    public IReadOnlyList<WorkItem<T>> Items { get; }

    /// <summary>The position of the batch in the source. The format belongs to the source; do not compare positions.</summary>
    public string Position { get; }

    /// <summary>
    /// Whether the batch may have killed a process: it was delivered before, but neither acknowledged nor returned. The host runs such a batch alone, so that
    /// another crash identifies the batch as its cause.
    /// </summary>
    public bool IsSuspect { get; init; }

    /// <summary>The number of times that a process died or disappeared while it ran this batch alone. 0 for a batch that is not suspect.</summary>
    public int Crashes { get; init; }
}
