namespace Weir.Lab.Queues.Arms;

/// <summary>What a container gives to the handlers of those libraries that have one.</summary>
/// <param name="handle">Handles an item.</param>
public sealed class ItemWork(Action<QueueItem> handle)
{
    /// <summary>Handles an item.</summary>
    public void Handle(QueueItem item) => handle(item);
}
