namespace Weir.Delivery;

/// <summary>A destination for work or results: the publishing end of a queue, or a table.</summary>
/// <typeparam name="T">The type of the items' values.</typeparam>
/// <remarks>
/// Make one call at a time, unless the sink allows more. A failed call may be repeated, so a sink can get an item twice; the identity of the item tells. A sink
/// that stores the position and the items in one transaction, and ignores items that are not beyond its stored position, has each effect exactly once.
/// </remarks>
public interface IWorkSink<T> : IAsyncDisposable
{
    /// <summary>Stores items.</summary>
    /// <param name="items">The items, in order. Empty if only the position has moved.</param>
    /// <param name="position">
    /// The position in the source up to which everything has been handled; <see langword="null"/> if the items do not come from an ordered source.
    /// </param>
    /// <param name="cancellationToken">Ends the wait. The items may have been stored anyway.</param>
    /// <returns>A task that completes when the items are stored durably.</returns>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    /// <exception cref="WorkRefusedException">Some items can never be stored, because their values are too long for example. None of the list is.</exception>
    /// <exception cref="WorkSetupException">The sink is not set up, or its setup does not match.</exception>
    ValueTask WriteAsync(IReadOnlyList<WorkItem<T>> items, string? position, CancellationToken cancellationToken);
}
