namespace Weir.Delivery;

/// <summary>Looks at the items of a queue without taking them, and cancels those that nobody has. Thread-safe.</summary>
public interface IQueuedItems
{
    /// <summary>Lists items, in the order in which they were enqueued, also those that wait for a time and those that a worker has.</summary>
    /// <param name="limit">The maximum number of items, at least 1.</param>
    /// <param name="cancellationToken">Ends the enumeration.</param>
    /// <returns>The items. What is enqueued, done or moved meanwhile may or may not be among them.</returns>
    /// <exception cref="ArgumentOutOfRangeException"><paramref name="limit"/> is less than 1.</exception>
    IAsyncEnumerable<QueuedItem> ListAsync(int limit = 100, CancellationToken cancellationToken = default);

    /// <summary>Finds an item.</summary>
    /// <param name="id">Its identity.</param>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <returns>The item, the first of them if several have the identity; <see langword="null"/> if the queue has none: it is done, or a dead letter.</returns>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    ValueTask<QueuedItem?> FindAsync(WorkId id, CancellationToken cancellationToken = default);

    /// <summary>Removes items that no worker has. They leave no dead letter.</summary>
    /// <param name="ids">Their identities. All items that have one of them are removed.</param>
    /// <param name="cancellationToken">Ends the wait. The items may have been removed all the same.</param>
    /// <returns>How many were removed. The others are done, or a worker has them, and are left alone.</returns>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    ValueTask<int> CancelAsync(IReadOnlyList<WorkId> ids, CancellationToken cancellationToken = default);
}
