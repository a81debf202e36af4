namespace Weir.RabbitMQ;

/// <summary>A publishing end of a queue. All of them share the connection of the queue object, and may be called at the same time.</summary>
internal sealed class RabbitWorkSink<T>(RabbitWorkQueue<T> queue) : IWorkSink<T>
{
    public ValueTask WriteAsync(IReadOnlyList<WorkItem<T>> items, string? position, CancellationToken cancellationToken) =>
        queue.PublishAsync(items, cancellationToken);

    public ValueTask DisposeAsync() => default;
}
