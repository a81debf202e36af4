using System.Collections.Concurrent;

namespace Weir.Delivery.Tests.Hosts;

/// <summary>
/// A source over given batches, as a change stream: acknowledged in order, no redelivery, no single items unless asked for. It notes all that is said to it.
/// </summary>
internal sealed class ListSource(AcknowledgementOrder order, params IEnumerable<WorkBatch<int>> batches) : IWorkSource<int>, IItemAcknowledgement<int>
{
    private readonly Queue<WorkBatch<int>> _batches = new(batches);
    private readonly TaskCompletionSource _end = new(TaskCreationOptions.RunContinuationsAsynchronously);

    public string Name { get; init; } = "list";

    public AcknowledgementOrder Order => order;

    public IRedelivery<int>? Redelivery => null;

    public IItemAcknowledgement<int>? ItemAcknowledgement => AcknowledgesItems is null ? null : this;

    public TimeSpan Interval => TimeSpan.FromMilliseconds(50);

    /// <summary>Whether a call for single items acknowledges them; null if the source cannot.</summary>
    public Func<bool>? AcknowledgesItems { get; init; }

    /// <summary>Whether the source ends after its batches, or is silent.</summary>
    public bool Ends { get; init; } = true;

    /// <summary>Called before each call of the source, with its name.</summary>
    public Action<string> OnCall { get; init; } = static _ => { };

    public List<string> Acknowledged { get; } = [];

    public List<string> Returned { get; } = [];

    /// <summary>The calls for single items: the position of each batch, and the places.</summary>
    public ConcurrentQueue<string> AcknowledgedItems { get; } = new();

    public int ReadBatches { get; private set; }

    public static WorkBatch<int> Batch(int position, int items, bool suspect = false, int crashes = 0) =>
        new([.. Enumerable.Range(0, items).Select(i => new WorkItem<int>(new WorkId($"{position}", i), (position * 100) + i, $"{i}"))], $"{position}")
        {
            IsSuspect = suspect,
            Crashes = crashes,
        };

    public async ValueTask<WorkBatch<int>?> ReadAsync(CancellationToken cancellationToken)
    {
        OnCall(nameof(ReadAsync));
        if (_batches.TryDequeue(out WorkBatch<int>? batch))
        {
            ReadBatches++;
            return batch;
        }

        if (!Ends)
        {
            await _end.Task.WaitAsync(cancellationToken);
        }

        return null;
    }

    public ValueTask AcknowledgeAsync(IReadOnlyList<WorkBatch<int>> batches, CancellationToken cancellationToken)
    {
        OnCall(nameof(AcknowledgeAsync));
        lock (Acknowledged)
        {
            Acknowledged.AddRange(batches.Select(static b => b.Position));
        }

        return default;
    }

    public ValueTask<bool> AcknowledgeItemsAsync(IReadOnlyList<DoneItems<int>> items, CancellationToken cancellationToken)
    {
        OnCall(nameof(AcknowledgeItemsAsync));
        AcknowledgedItems.Enqueue(string.Join(", ", items.Select(static i => $"{i.Batch.Position}: {string.Join(' ', i.Places)}")));
        return new ValueTask<bool>(AcknowledgesItems!());
    }

    public ValueTask ReturnAsync(IReadOnlyList<WorkBatch<int>> batches, CancellationToken cancellationToken)
    {
        OnCall(nameof(ReturnAsync));
        Returned.AddRange(batches.Select(static b => b.Position));
        return default;
    }

    public ValueTask DisposeAsync() => default;

    public string[] AcknowledgedSoFar()
    {
        lock (Acknowledged)
        {
            return [.. Acknowledged];
        }
    }
}
