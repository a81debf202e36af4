namespace Weir.Lab.Queues.Arms;

/// <summary>The handler that Wolverine finds by its name, and calls by code that it compiles when the worker starts.</summary>
public static class WolverineItemsHandler
{
    /// <summary>Handles an item.</summary>
    public static Task Handle(QueueItem item, ItemWork work)
    {
        ArgumentNullException.ThrowIfNull(work);
        return work.HandleAsync(item);
    }
}
