namespace Weir.Delivery;

/// <summary>A work queue: a publishing end, any number of competing consumers, and a store for dead letters.</summary>
/// <typeparam name="T">The type of the items' values.</typeparam>
/// <remarks>Thread-safe. The sources and sinks that it opens are not, and they end when the queue is disposed.</remarks>
public interface IWorkQueue<T> : IWorkStatistics, IAsyncDisposable
{
    /// <summary>What turns the items' values into bytes and back: for those who publish, those who consume, and dead letters alike.</summary>
    /// <value><see langword="null"/> if the queue does not say. Whoever needs it has to be given one then.</value>
    IWorkSerializer<T>? Serializer => null;

    /// <summary>The items that could not be processed.</summary>
    IDeadLetters DeadLetters { get; }

    /// <summary>The items in the queue, to look at and to cancel.</summary>
    /// <value><see langword="null"/> if the engine cannot look at an item without taking it, as RabbitMQ.</value>
    IQueuedItems? QueuedItems => null;

    /// <summary>Creates the tables, or the exchanges and queues, that do not exist yet. Those that exist must match.</summary>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <returns>A task that completes when the queue can be used.</returns>
    /// <exception cref="WorkSetupException">An existing object has the same name but does not match.</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    Task SetupAsync(CancellationToken cancellationToken = default);

    /// <summary>Opens a publishing end.</summary>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <returns>A sink, which the caller disposes.</returns>
    /// <exception cref="WorkSetupException">The queue is not set up.</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    ValueTask<IWorkSink<T>> OpenSinkAsync(CancellationToken cancellationToken = default);

    /// <summary>Opens a consuming end.</summary>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <returns>A source, which the caller disposes. Batches that it has read but not acknowledged then go to other consumers.</returns>
    /// <exception cref="WorkSetupException">The queue is not set up.</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    ValueTask<IWorkSource<T>> OpenSourceAsync(CancellationToken cancellationToken = default);

    // An engine that counts nothing knows nothing.
    ValueTask<WorkStatistics> IWorkStatistics.GetStatisticsAsync(CancellationToken cancellationToken) => new(new WorkStatistics());
}
