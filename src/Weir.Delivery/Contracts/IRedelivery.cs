namespace Weir.Delivery;

/// <summary>Stores failed items until their next attempt, so that the rest of their batch can be acknowledged.</summary>
/// <typeparam name="T">The type of the items' values.</typeparam>
public interface IRedelivery<T>
{
    /// <summary>Keeps items for another attempt.</summary>
    /// <param name="batch">The batch that they were delivered in, which is acknowledged afterwards.</param>
    /// <param name="items">Some of its items, with the number of their next attempt.</param>
    /// <param name="delay">The minimum time to wait. A source with fixed delays uses the next longer one, or its longest.</param>
    /// <param name="cancellationToken">Ends the wait. The items may have been stored anyway, and may then be delivered twice.</param>
    /// <returns>A task that completes when the items are stored durably.</returns>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    ValueTask RedeliverAsync(WorkBatch<T> batch, IReadOnlyList<WorkItem<T>> items, TimeSpan delay, CancellationToken cancellationToken);
}
