namespace Weir.Delivery;

/// <summary>Acknowledges single items of a batch that is not done yet, so that a crash does not repeat them.</summary>
/// <typeparam name="T">The type of the items' values.</typeparam>
public interface IItemAcknowledgement<T>
{
    /// <summary>How long items that are done wait for the rest of their batch at most: a host calls it this often while there are such items.</summary>
    /// <value>More than zero, and at most 49 days.</value>
    TimeSpan Interval { get; }

    /// <summary>Acknowledges items: each has an outcome that survives a crash. The rest of their batches is acknowledged later, with the batches.</summary>
    /// <param name="items">Items of batches that are neither acknowledged nor returned. It may have been called for some of them before.</param>
    /// <param name="cancellationToken">Ends the wait. The items may be delivered again then.</param>
    /// <returns>
    /// Whether all of them are acknowledged now. If not, because that would cost more than it saves so early, a later call for the same items may do it, and
    /// the acknowledgement of their batch does.
    /// </returns>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    ValueTask<bool> AcknowledgeItemsAsync(IReadOnlyList<DoneItems<T>> items, CancellationToken cancellationToken);
}
