namespace Weir.PostgreSql;

/// <summary>The publishing end of a queue: each call is a transaction.</summary>
internal sealed class PostgresWorkSink<T>(PostgresWorkQueue<T> queue) : IWorkSink<T>
{
    public ValueTask WriteAsync(IReadOnlyList<WorkItem<T>> items, string? position, CancellationToken cancellationToken) =>
        queue.EnqueueAsync(items, TimeSpan.Zero, cancellationToken);

    public ValueTask DisposeAsync() => default;
}
