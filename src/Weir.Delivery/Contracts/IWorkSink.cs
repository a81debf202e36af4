namespace Weir.Delivery;

/// <summary>Where work or results go: the publishing end of a queue, or a table.</summary>
/// <typeparam name="T">The type of the items' values.</typeparam>
/// <remarks>
/// One call at a time, unless the sink says otherwise. A call that failed may be repeated, so a sink sees items twice; it can tell by their identity. A sink
/// that stores the position together with the items, in one transaction, and ignores what is not beyond the position it has, has each effect exactly once.
/// </remarks>
public interface IWorkSink<T> : IAsyncDisposable
{
    /// <summary>Stores items.</summary>
    /// <param name="items">The items, in order. May be empty, if only the position has moved.</param>
    /// <param name="position">
    /// Where in their source everything up to the last of them has been handled; <see langword="null"/> if they come from no source with an order.
    /// </param>
    /// <param name="cancellationToken">Ends the wait. The items may have been stored all the same.</param>
    /// <returns>A task that completes when the items are stored durably.</returns>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    /// <exception cref="WorkSetupException">The sink is not set up, or not as the caller wants it.</exception>
    ValueTask WriteAsync(IReadOnlyList<WorkItem<T>> items, string? position, CancellationToken cancellationToken);
}
