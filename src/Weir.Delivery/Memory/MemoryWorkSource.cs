using System.Globalization;

namespace Weir.Delivery;

/// <summary>A consuming end of a queue in memory. When it is disposed, items that were read but not acknowledged go back to the queue.</summary>
internal sealed class MemoryWorkSource<T>(MemoryWorkQueue<T> queue) : IWorkSource<T>, IRedelivery<T>
{
    private readonly Lock _lock = new();
    private readonly Dictionary<WorkBatch<T>, (long Number, List<WaitingItem<T>> Items)> _open = [];
    private long _lastBatch;

    public string MessagingSystem => MemoryWorkQueue<T>.System;

    public string Name => queue.Name;

    public IWorkSerializer<T> Serializer => queue.Serializer;

    public AcknowledgementOrder Order => AcknowledgementOrder.Any;

    public IRedelivery<T> Redelivery => this;

    public async ValueTask<WorkBatch<T>?> ReadAsync(CancellationToken cancellationToken)
    {
        if (await queue.TakeAsync(cancellationToken).ConfigureAwait(false) is not { } items)
        {
            return null;
        }

        lock (_lock)
        {
            var batch = new WorkBatch<T>([.. items.Select(static i => i.Item)], (++_lastBatch).ToString(CultureInfo.InvariantCulture));
            _open.Add(batch, (_lastBatch, items));
            return batch;
        }
    }

    public ValueTask AcknowledgeAsync(IReadOnlyList<WorkBatch<T>> batches, CancellationToken cancellationToken)
    {
        foreach (List<WaitingItem<T>> items in Close(batches))
        {
            queue.Remove(items.Count);
        }

        return default;
    }

    public ValueTask ReturnAsync(IReadOnlyList<WorkBatch<T>> batches, CancellationToken cancellationToken)
    {
        List<List<WaitingItem<T>>> closed = Close(batches);
        for (int i = closed.Count - 1; i >= 0; i--)
        {
            // In reverse, so that the first batch ends up in front.
            queue.PutBack(closed[i]);
        }

        return default;
    }

    public ValueTask RedeliverAsync(WorkBatch<T> batch, IReadOnlyList<WorkItem<T>> items, TimeSpan delay, CancellationToken cancellationToken)
    {
        ArgumentNullException.ThrowIfNull(items);
        queue.Redeliver(items, delay);
        return default;
    }

    public ValueTask DisposeAsync()
    {
        WorkBatch<T>[] open;
        lock (_lock)
        {
            open = [.. _open.OrderBy(static o => o.Value.Number).Select(static o => o.Key)];
        }

        return ReturnAsync(open, CancellationToken.None);
    }

    private List<List<WaitingItem<T>>> Close(IReadOnlyList<WorkBatch<T>> batches)
    {
        ArgumentNullException.ThrowIfNull(batches);
        lock (_lock)
        {
            // A batch that is no longer open was returned or acknowledged before.
            List<List<WaitingItem<T>>> closed = [];
            foreach (WorkBatch<T> batch in batches)
            {
                if (_open.Remove(batch, out (long Number, List<WaitingItem<T>> Items) open))
                {
                    closed.Add(open.Items);
                }
            }

            return closed;
        }
    }
}
