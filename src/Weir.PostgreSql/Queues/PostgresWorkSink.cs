namespace Weir.PostgreSql;

/// <summary>The publishing end of a queue: each call is a transaction.</summary>
internal sealed class PostgresWorkSink<T>(PostgresWorkQueue<T> queue) : IWorkSink<T>
{
    public async ValueTask WriteAsync(IReadOnlyList<WorkItem<T>> items, string? position, CancellationToken cancellationToken)
    {
        ArgumentNullException.ThrowIfNull(items);
        try
        {
            await queue.EnqueueAsync(items, TimeSpan.Zero, cancellationToken).ConfigureAwait(false);
        }
        catch (ArgumentException)
        {
            List<WorkRefusal> refusals = queue.Refusals(items);
            if (refusals.Count == 0)
            {
                throw;
            }

            throw new WorkRefusedException(refusals);
        }
    }

    public ValueTask DisposeAsync() => default;
}
