namespace Weir.Delivery.Cli.Commands.Work.Execution;

/// <summary>A source that ends when nothing has come for some time.</summary>
internal sealed class IdleSource<T>(IWorkSource<T> inner, TimeSpan patience, TimeProvider clock) : IWorkSource<T>
{
    public string MessagingSystem => inner.MessagingSystem;

    public string Name => inner.Name;

    public AcknowledgementOrder Order => inner.Order;

    public IRedelivery<T>? Redelivery => inner.Redelivery;

    public async ValueTask<WorkBatch<T>?> ReadAsync(CancellationToken cancellationToken)
    {
        using CancellationTokenSource limit = new(patience, clock);
        using CancellationTokenSource stop = CancellationTokenSource.CreateLinkedTokenSource(limit.Token, cancellationToken);
        try
        {
            return await inner.ReadAsync(stop.Token).ConfigureAwait(false);
        }
        catch (OperationCanceledException) when (limit.IsCancellationRequested && !cancellationToken.IsCancellationRequested)
        {
            return null;
        }
    }

    public ValueTask AcknowledgeAsync(IReadOnlyList<WorkBatch<T>> batches, CancellationToken cancellationToken) =>
        inner.AcknowledgeAsync(batches, cancellationToken);

    public ValueTask ReturnAsync(IReadOnlyList<WorkBatch<T>> batches, CancellationToken cancellationToken) =>
        inner.ReturnAsync(batches, cancellationToken);

    public ValueTask DisposeAsync() => inner.DisposeAsync();
}
