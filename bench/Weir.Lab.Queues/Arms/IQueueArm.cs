namespace Weir.Lab.Queues.Arms;

/// <summary>
/// A library with a queue on a server, as it is used: open it, publish, and start a worker that handles at most <see cref="Consumers"/> items at a time.
/// Disposing of it ends the worker in an orderly way.
/// </summary>
internal interface IQueueArm : IAsyncDisposable
{
    /// <summary>How many items a worker handles at a time.</summary>
    const int Consumers = 2;

    /// <summary>How long what a dead worker had stays with it, where a library takes such a time from its user.</summary>
    static readonly TimeSpan Lease = TimeSpan.FromSeconds(30);

    /// <summary>Creates the queue, and makes ready for publishing.</summary>
    Task OpenAsync();

    /// <summary>Publishes an item in a message of its own. Several callers do so at once.</summary>
    /// <returns>Completes when the server has it on its disk.</returns>
    Task PublishAsync(QueueItem item);

    /// <summary>Starts the worker. The queue is there.</summary>
    /// <param name="handle">Handles an item. It is called by several threads at once, and blocks its thread while it runs.</param>
    Task StartAsync(Action<QueueItem> handle);

    /// <summary>Deletes what is left on the broker. A database is dropped by whoever created it.</summary>
    Task DeleteAsync();
}
