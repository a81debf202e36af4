namespace Weir.Delivery;

/// <summary>What a source delivers at once and is acknowledged as one: a message, a transaction, or some leased rows.</summary>
/// <typeparam name="T">The type of the items' values.</typeparam>
/// <remarks>Sources derive from it to add what they need to acknowledge it. The items do not change after it was read.</remarks>
public class WorkBatch<T>
{
    /// <summary>Creates a batch.</summary>
    /// <param name="items">Its items, in order. May be empty: then there is only a position to acknowledge.</param>
    /// <param name="position">Where in the source it is. What a checkpoint keeps, if the source has checkpoints.</param>
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

    /// <summary>Where in the source the batch is. The text is the source's own; only its order of delivery counts.</summary>
    public string Position { get; }

    /// <summary>
    /// Whether a process may have died of it: it was delivered before, and nobody settled it. The host runs such a batch alone, so that if the process dies
    /// again, it is known of what.
    /// </summary>
    public bool IsSuspect { get; init; }

    /// <summary>How often a process has died or disappeared while it ran this batch alone. 0 for a batch that is not suspect.</summary>
    public int Crashes { get; init; }
}
