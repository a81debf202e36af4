using System.Diagnostics.CodeAnalysis;
using Weir.Core;
using Weir.Core.Threads;

namespace Weir;

/// <content>How a run reads the queue. It ends when a reader finds, or waits and learns, that nothing is queued and nothing can add anything.</content>
public sealed partial class WorkQueue<T>
{
    private bool IsDoneNeedsLock => _items.Count == 0 && _running == 0 && _reserved == 0 && _keptOpen == 0;

    internal void BeginReading()
    {
        lock (_lock)
        {
            if (_isRead)
            {
                throw new InvalidOperationException("The queue is already being read: one run at a time may read it.");
            }

            _isRead = true;
        }
    }

    /// <summary>The reader ends. Everything that it took has ended, except for what it gives back.</summary>
    internal void EndReading(IReadOnlyCollection<T> neverRun)
    {
        lock (_lock)
        {
            _isRead = false;
            _running = 0;
            _waiter = null;
            foreach (T item in neverRun.Reverse())
            {
                if (_order == WorkQueueOrder.OldestFirst)
                {
                    _items.AddFirst(item);
                }
                else
                {
                    _items.AddLast(item);
                }
            }

            // Also after a stop: otherwise it would depend on whether the reader was waiting when the last item ended.
            _isCompleted |= IsDoneNeedsLock;
        }
    }

    internal bool TryTake([MaybeNullWhen(false)] out T item)
    {
        lock (_lock)
        {
            if ((_order == WorkQueueOrder.OldestFirst ? _items.First : _items.Last) is not { } node)
            {
                item = default;
                return false;
            }

            _items.Remove(node);
            _running++;
            item = node.Value;
            return true;
        }
    }

    /// <summary>Waits until there is something to take.</summary>
    /// <returns>False at the end of the queue.</returns>
    internal ValueTask<bool> WaitAsync(CancellationToken cancellationToken)
    {
        TaskCompletionSource<bool> waiter;
        lock (_lock)
        {
            if (_items.Count > 0 || IsDoneNeedsLock)
            {
                _isCompleted |= _items.Count == 0;
                return new(_items.Count > 0);
            }

            waiter = _waiter = new TaskCompletionSource<bool>();
        }

        return new(waiter.Task.WaitAsync(cancellationToken));
    }

    /// <summary>Items that were taken have ended.</summary>
    internal void Ended(int count)
    {
        TaskCompletionSource<bool>? waiter;
        bool hasItems;
        lock (_lock)
        {
            _running -= count;
            waiter = TakeWaiterNeedsLock(out hasItems);
        }

        Wake(waiter, hasItems);
    }

    /// <summary>Lets a reader go on, on another thread: that of the caller may be inside an item, or anybody's.</summary>
    private static void Wake(TaskCompletionSource<bool>? waiter, bool hasItems)
    {
        if (waiter is null)
        {
            return;
        }

        Waking waking = new(waiter, hasItems);
        if (SpareThreads.IsCurrent)
        {
            // Items that were given up may hold all threads of the pool, and only the reader can find those that are left.
            UrgentWork.Queue(waking);
        }
        else
        {
            ThreadPool.UnsafeQueueUserWorkItem(waking, preferLocal: true);
        }
    }

    private void LetEnd()
    {
        TaskCompletionSource<bool>? waiter;
        bool hasItems;
        lock (_lock)
        {
            _keptOpen--;
            waiter = TakeWaiterNeedsLock(out hasItems);
        }

        Wake(waiter, hasItems);
    }

    /// <summary>The reader that waits, if it may go on.</summary>
    private TaskCompletionSource<bool>? TakeWaiterNeedsLock(out bool hasItems)
    {
        hasItems = _items.Count > 0;
        if (_waiter is not { } waiter || !(hasItems || IsDoneNeedsLock))
        {
            return null;
        }

        _isCompleted |= !hasItems;
        _waiter = null;
        return waiter;
    }

    private sealed class Waking(TaskCompletionSource<bool> waiter, bool hasItems) : IThreadPoolWorkItem
    {
        // Nothing else would wake the reader: it waits for just this, and setting it once more does nothing.
        public void Execute() => Unattended.Run(this, static waking => waking.Wake(), static (waking, _) => waking.Wake());

        private void Wake() => waiter.TrySetResult(hasItems);
    }
}
