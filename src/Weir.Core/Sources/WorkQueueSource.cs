using System.Diagnostics.CodeAnalysis;

namespace Weir.Core.Sources;

/// <summary>A queue of work as the source of a run, which tells it when what it took has ended.</summary>
internal abstract class WorkQueueSource<T, TItem>(WorkQueue<T> queue) : OneByOneSource<TItem>, ILanes
{
    private readonly Lock _lock = new();
    private readonly Dictionary<long, TItem> _taken = [];
    private ValueTask<bool> _waiting;
    private bool _isOpen;

    protected WorkQueue<T> Queue => queue;

    public void ItemEnded(long index)
    {
        TItem? item;
        lock (_lock)
        {
            if (!_taken.Remove(index, out item))
            {
                return;
            }
        }

        queue.Ended(ItemsOf(item).Count);
    }

    public override long Unread => queue.Count;

    public override void OnReady(Action continuation) => _waiting.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(continuation);

    public override void Close()
    {
        if (_isOpen)
        {
            queue.EndReading([.. _taken.OrderBy(static pair => pair.Key).SelectMany(pair => ItemsOf(pair.Value))]);
        }
    }

    protected abstract bool TryTake([MaybeNullWhen(false)] out TItem item);

    protected abstract IReadOnlyCollection<T> ItemsOf(TItem item);

    protected override ClaimResult Step(out TItem? item)
    {
        if (!_isOpen)
        {
            queue.BeginReading();
            _isOpen = true;
        }

        while (!TryTake(out item))
        {
            ValueTask<bool> waiting = queue.WaitAsync(CancellationToken);
            if (!waiting.IsCompleted)
            {
                _waiting = waiting;
                return ClaimResult.Pending;
            }

            if (!waiting.GetAwaiter().GetResult())
            {
                return ClaimResult.Empty;
            }
        }

        lock (_lock)
        {
            // The item that is read now.
            _taken.Add(NextIndex, item);
        }

        return ClaimResult.Claimed;
    }

    [SuppressMessage("Reliability", "CA2012:Use ValueTasks correctly", Justification = "Taken out of the field, consumed once.")]
    protected override ClaimResult FinishStep(out TItem? item)
    {
        ValueTask<bool> waiting = _waiting;
        _waiting = default;
        bool hasMore = waiting.GetAwaiter().GetResult();
        if (hasMore && !IsHeld)
        {
            return Step(out item);
        }

        item = default;
        return hasMore ? ClaimResult.Paused : ClaimResult.Empty;
    }
}
