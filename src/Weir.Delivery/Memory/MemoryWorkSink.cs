namespace Weir.Delivery;

/// <summary>The publishing end of a queue in memory. A call waits while the queue is full.</summary>
internal sealed class MemoryWorkSink<T>(MemoryWorkQueue<T> queue) : IWorkSink<T>
{
    public ValueTask WriteAsync(IReadOnlyList<WorkItem<T>> items, string? position, CancellationToken cancellationToken)
    {
        ArgumentNullException.ThrowIfNull(items);
        return queue.PublishAsync(items, cancellationToken);
    }

    public ValueTask DisposeAsync() => default;
}
