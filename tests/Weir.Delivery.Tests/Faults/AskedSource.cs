namespace Weir.Delivery.Tests.Faults;

/// <summary>A source that says it acknowledges single items, and notes that it was asked to.</summary>
internal sealed class AskedSource(IWorkSource<int> inner) : IWorkSource<int>, IItemAcknowledgement<int>
{
    private readonly TaskCompletionSource _asked = new(TaskCreationOptions.RunContinuationsAsynchronously);

    public string Name => inner.Name;

    public IWorkSerializer<int>? Serializer => inner.Serializer;

    public AcknowledgementOrder Order => inner.Order;

    public IRedelivery<int>? Redelivery => inner.Redelivery;

    public IItemAcknowledgement<int> ItemAcknowledgement => this;

    public TimeSpan Interval => TimeSpan.FromMilliseconds(3);

    /// <summary>Ends when it has been asked for the first time.</summary>
    public Task Asked => _asked.Task;

    public ValueTask<WorkBatch<int>?> ReadAsync(CancellationToken cancellationToken) => inner.ReadAsync(cancellationToken);

    public ValueTask AcknowledgeAsync(IReadOnlyList<WorkBatch<int>> batches, CancellationToken cancellationToken) =>
        inner.AcknowledgeAsync(batches, cancellationToken);

    public ValueTask<bool> AcknowledgeItemsAsync(IReadOnlyList<DoneItems<int>> items, CancellationToken cancellationToken)
    {
        _asked.TrySetResult();
        return new ValueTask<bool>(true);
    }

    public ValueTask ReturnAsync(IReadOnlyList<WorkBatch<int>> batches, CancellationToken cancellationToken) => inner.ReturnAsync(batches, cancellationToken);

    public ValueTask DisposeAsync() => inner.DisposeAsync();
}
