using Weir.Core.Sources;
using Weir.Core.Threads;

namespace Weir.Core.Dispatch;

/// <summary>
/// Items that wait for their next attempt. They hold no worker meanwhile. One timer for the run, set to the earliest; everything that is due when it fires goes
/// back to the source, from where any worker claims it. An item may also wait for something to happen, as long as it is not due.
/// </summary>
internal sealed class DelayQueue<T>(Source<T> source, TimeProvider time, Action<int> due) : IDisposable
{
    private readonly Lock _lock = new();
    private readonly PriorityQueue<(Chunk<T> Item, Task? Until), (long Due, long Index)> _waiting = new();
    private DelayWakeUp<T>? _wakeUp;
    private Task? _lastUntil;
    private ITimer? _timer;
    private long _timerDue = long.MaxValue;
    private bool _closed;

    /// <summary>Keeps an item.</summary>
    /// <param name="item">A chunk of the one item.</param>
    /// <param name="dueAt">When it comes back, as a timestamp of the clock.</param>
    /// <param name="until">What brings it back before that, if anything does. Items that wait for the same thing give the same task.</param>
    /// <returns>False when the run is over and the item was not taken.</returns>
    public bool TryAdd(in Chunk<T> item, long dueAt, Task? until)
    {
        DelayWakeUp<T>? wakeUp = null;
        using (_lock.Hold())
        {
            if (_closed)
            {
                return false;
            }

            _waiting.Enqueue((item, until), (dueAt, item.FirstIndex));
            SetTimerNeedsLock();
            if (until is not null && until != _lastUntil)
            {
                _lastUntil = until;
                wakeUp = _wakeUp ??= new DelayWakeUp<T>(this);
            }
        }

        // A task that has ended already calls back like any other.
        wakeUp?.CallAfter(until!);
        return true;
    }

    /// <summary>Gives back what waits for a task that has ended.</summary>
    public void Wake(Task until)
    {
        int count = 0;
        using (_lock.Hold())
        {
            if (_closed)
            {
                return;
            }

            ((Chunk<T> Item, Task? Until) Waiting, (long Due, long Index) At)[] all = [.. _waiting.UnorderedItems];
            _waiting.Clear();
            foreach (((Chunk<T> Item, Task? Until) waiting, (long Due, long Index) at) in all)
            {
                if (waiting.Until == until)
                {
                    source.GiveBack(waiting.Item);
                    count++;
                }
                else
                {
                    _waiting.Enqueue(waiting, at);
                }
            }
        }

        if (count > 0)
        {
            due(count);
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
            _wakeUp?.Close();
            Chunk<T>[] left = [.. _waiting.UnorderedItems.Select(static waiting => waiting.Element.Item)];
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
            while (_waiting.TryPeek(out (Chunk<T> Item, Task? Until) first, out (long Due, long Index) next) && next.Due <= now)
            {
                _waiting.Dequeue();
                source.GiveBack(first.Item);
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
