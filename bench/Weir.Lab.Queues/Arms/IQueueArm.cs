namespace Weir.Lab.Queues.Arms;

/// <summary>
/// A library with a queue on a server, as it is used: open it, publish, and start a worker that handles as many items at a time as its address says.
/// Disposing of it ends the worker in an orderly way.
/// </summary>
internal interface IQueueArm : IAsyncDisposable
{
    /// <summary>How long what a dead worker had stays with it, where a library takes such a time from its user.</summary>
    static readonly TimeSpan Lease = TimeSpan.FromSeconds(30);

    /// <summary>Creates the queue, and makes ready for publishing.</summary>
    Task OpenAsync();

    /// <summary>Publishes an item in a message of its own. Several callers do so at once.</summary>
    /// <returns>Completes when the server has it on its disk.</returns>
    Task PublishAsync(QueueItem item);

    /// <summary>Starts the worker. The queue is there.</summary>
    /// <param name="handle">Handles an item. It is called by several threads at once, and may block its thread before it returns.</param>
    Task StartAsync(Func<QueueItem, Task> handle);

    /// <summary>Deletes what is left on the broker. A database is dropped by whoever created it.</summary>
    Task DeleteAsync();
}
