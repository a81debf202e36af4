namespace Weir.Delivery;

/// <summary>A work queue: a publishing end, any number of competing consumers, and a store for dead letters.</summary>
/// <typeparam name="T">The type of the items' values.</typeparam>
/// <remarks>Thread-safe. The sources and sinks that it opens are not, and they end when the queue is disposed.</remarks>
public interface IWorkQueue<T> : IWorkStatistics, IWorkContents, IAsyncDisposable
{
    /// <summary>What turns the items' values into bytes and back: for those who publish, those who consume, and dead letters alike.</summary>
    /// <value><see langword="null"/> if the queue does not say. Whoever needs it has to be given one then.</value>
    IWorkSerializer<T>? Serializer => null;

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

/// <summary>What is in a queue, whatever the type of its items: for those who look after queues.</summary>
public interface IWorkContents
{
    /// <summary>The items that could not be processed.</summary>
    IDeadLetters DeadLetters { get; }

    /// <summary>The items in the queue, to look at and to cancel.</summary>
    /// <value><see langword="null"/> if the engine cannot look at an item without taking it, as RabbitMQ.</value>
    IQueuedItems? QueuedItems => null;
}

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

/// <summary>An item that lies in a queue, as it was when it was read.</summary>
public sealed record QueuedItem
{
    /// <summary>The identity, as <see cref="WorkId.ToString"/> writes it.</summary>
    public required string Id { get; init; }

    /// <summary>The key, if it has one.</summary>
    public string? Key { get; init; }

    /// <summary>Which attempt it runs or waits for: 1 for the first.</summary>
    public required int Attempt { get; init; }

    /// <summary>The time from which a worker may get it, by the clock of the server.</summary>
    public required DateTimeOffset Due { get; init; }

    /// <summary>Whether a worker has it.</summary>
    public required bool IsInFlight { get; init; }

    /// <summary>Its headers, if it has some that can be read.</summary>
    public IReadOnlyDictionary<string, string>? Headers { get; init; }

    /// <summary>The value, as the serializer of the queue wrote it.</summary>
    public required ReadOnlyMemory<byte> Payload { get; init; }
}
