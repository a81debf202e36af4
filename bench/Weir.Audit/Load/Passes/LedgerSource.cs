namespace Weir.Audit.Load.Passes;

/// <summary>A source that reports what was acknowledged, after the engine has it.</summary>
internal sealed class LedgerSource(IWorkSource<string> inner, Action<IReadOnlyList<WorkBatch<string>>> acknowledged) : IWorkSource<string>
{
    public string MessagingSystem => inner.MessagingSystem;

    public string Name => inner.Name;

    public IWorkSerializer<string>? Serializer => inner.Serializer;

    public AcknowledgementOrder Order => inner.Order;

    public IRedelivery<string>? Redelivery => inner.Redelivery;

    public ValueTask<WorkBatch<string>?> ReadAsync(CancellationToken cancellationToken) => inner.ReadAsync(cancellationToken);

    public async ValueTask AcknowledgeAsync(IReadOnlyList<WorkBatch<string>> batches, CancellationToken cancellationToken)
    {
        await inner.AcknowledgeAsync(batches, cancellationToken);
        acknowledged(batches);
    }

    public ValueTask ReturnAsync(IReadOnlyList<WorkBatch<string>> batches, CancellationToken cancellationToken) =>
        inner.ReturnAsync(batches, cancellationToken);

    public ValueTask DisposeAsync() => inner.DisposeAsync();
}
