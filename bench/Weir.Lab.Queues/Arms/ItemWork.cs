namespace Weir.Lab.Queues.Arms;

/// <summary>What a container gives to the handlers of those libraries that have one.</summary>
/// <param name="handle">Handles an item.</param>
public sealed class ItemWork(Func<QueueItem, Task> handle)
{
    /// <summary>Handles an item.</summary>
    public Task HandleAsync(QueueItem item) => handle(item);
}
