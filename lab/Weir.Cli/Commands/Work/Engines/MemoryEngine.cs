using Weir.Delivery;
using static Weir.Cli.Commands.Work.Engines.WorkEngines;

namespace Weir.Cli.Commands.Work.Engines;

/// <summary>The queue of this process.</summary>
internal static class MemoryEngine
{
    public static WorkEngine Engine { get; } = new(
        "memory:",
        static address => address.Equals("memory:", StringComparison.OrdinalIgnoreCase),
        static (_, order) =>
        {
            MemoryWorkQueue<string> queue = new(order.Name, WorkSerializer.Text);
            return new OpenedQueue { Queue = queue, IsDurable = false, Complete = queue.Complete };
        });
}
