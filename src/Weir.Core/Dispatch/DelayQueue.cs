using Weir.Core.Sources;
using Weir.Core.Threads;

namespace Weir.Core.Dispatch;

/// <summary>
/// Items that wait for their next attempt, without a worker. There is one timer for the run, set to the earliest item. Everything that is due when it fires
/// goes back to the source, from which any worker can claim it.
/// </summary>
internal sealed class DelayQueue<T>(Source<T> source, TimeProvider time, Action<int> due) : IDisposable
{
    private readonly Lock _lock = new();
    private readonly PriorityQueue<Chunk<T>, (long Due, long Index)> _waiting = new();
    private ITimer? _timer;
    private long _timerDue = long.MaxValue;
    private bool _closed;

    /// <summary>Adds an item.</summary>
    /// <param name="item">A chunk that contains only this item.</param>
    /// <param name="dueAt">When it may come back, as a timestamp of the clock.</param>
    /// <returns>False if the run has ended and the item was not taken.</returns>
    public bool TryAdd(in Chunk<T> item, long dueAt)
    {
        using (_lock.Hold())
        {
            if (_closed)
            {
                return false;
            }

            _waiting.Enqueue(item, (dueAt, item.FirstIndex));
            SetTimerNeedsLock();
            return true;
        }
    }

    /// <summary>Returns all waiting items, and takes no more.</summary>
    public IReadOnlyList<Chunk<T>> Close()
    {
        using (_lock.Hold())
        {
            _closed = true;
            _timer?.Dispose();
            _timer = null;
            Chunk<T>[] left = [.. _waiting.UnorderedItems.Select(static item => item.Element)];
            _waiting.Clear();
            return left;
        }
    }

    public void Dispose() => Close();

    private void SetTimerNeedsLock()
    {
        if (!_waiting.TryPeek(out _, out (long Due, long Index) first) || first.Due == _timerDue)
        {
            return;
        }

        _timerDue = first.Due;
        _timer ??= WatchTime.For(time).CreateTimer(static queue => ((DelayQueue<T>)queue!).Fire(), this, Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
        TimeSpan left = time.GetElapsedTime(time.GetTimestamp(), first.Due);

        // Rounded up to whole milliseconds, so that a timer never fires early because of its own rounding, and never spins.
        _timer.Change(TimeSpan.FromMilliseconds(Math.Max(0, Math.Ceiling(left.TotalMilliseconds))), Timeout.InfiniteTimeSpan);
    }

    private void Fire()
    {
        int count = 0;
        using (_lock.Hold())
        {
            _timerDue = long.MaxValue;
            long now = time.GetTimestamp();
            while (_waiting.TryPeek(out Chunk<T> item, out (long Due, long Index) next) && next.Due <= now)
            {
                _waiting.Dequeue();
                source.GiveBack(item);
                count++;
            }

            if (!_closed)
            {
                SetTimerNeedsLock();
            }
        }

        if (count > 0)
        {
            due(count);
        }
    }
}
