namespace Weir.Delivery.Cli.Engines;

/// <summary>The queue of this process.</summary>
internal static class MemoryEngine
{
    public static WorkEngine Engine { get; } = new(
        "memory",
        null,
        "memory:",
        static address => address.Equals("memory:", StringComparison.OrdinalIgnoreCase),
        static (_, order) =>
        {
            MemoryWorkQueueOptions options = new();
            MemoryWorkQueue<string> queue = new(
                order.Name, WorkSerializer.Text, order.ItemsPerMessage is { } items ? options with { MaxItemsPerBatch = items } : options);
            return new OpenedQueue { Queue = queue, IsDurable = false, Complete = queue.Complete };
        });
}
