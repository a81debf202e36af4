using Weir.Delivery;

namespace Weir.Explore.Tests.Scenarios;

/// <summary>A source of one batch, whose items can be acknowledged by themselves. It notes in which order that, and its batch, is.</summary>
internal sealed class ItemSource(int count) : IWorkSource<int>, IItemAcknowledgement<int>
{
    private bool _isRead;

    public string Name => "items";

    public AcknowledgementOrder Order => AcknowledgementOrder.Any;

    public IRedelivery<int>? Redelivery => null;

    public IItemAcknowledgement<int> ItemAcknowledgement => this;

    public TimeSpan Interval => TimeSpan.FromSeconds(1);

    /// <summary>The places, of each call, and then the batch.</summary>
    public List<string> Acknowledged { get; } = [];

    public ValueTask<WorkBatch<int>?> ReadAsync(CancellationToken cancellationToken)
    {
        WorkBatch<int>? batch = _isRead ? null : new([.. Enumerable.Range(0, count).Select(static i => WorkItem.Create(i))], "batch");
        _isRead = true;
        return new(batch);
    }

    public ValueTask AcknowledgeAsync(IReadOnlyList<WorkBatch<int>> batches, CancellationToken cancellationToken)
    {
        Acknowledged.AddRange(batches.Select(static b => b.Position));
        return default;
    }

    public ValueTask<bool> AcknowledgeItemsAsync(IReadOnlyList<DoneItems<int>> items, CancellationToken cancellationToken)
    {
        Acknowledged.AddRange(items.Select(static i => string.Join(' ', i.Places)));
        return new(true);
    }

    public ValueTask ReturnAsync(IReadOnlyList<WorkBatch<int>> batches, CancellationToken cancellationToken) => default;

    public ValueTask DisposeAsync() => default;
}
