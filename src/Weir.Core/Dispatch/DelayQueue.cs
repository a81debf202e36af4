using Weir.Core.Metering;
using Weir.Core.Sources;
using Weir.Core.Threads;

namespace Weir.Core.Dispatch;

/// <summary>
/// Items that wait for their next attempt. They hold no worker meanwhile. One timer for the run, set to the earliest; everything that is due when it fires goes
/// back to the source, from where any worker claims it. An item may also wait for something to happen, as long as it is not due.
/// </summary>
/// <remarks>
/// An item is in the order of times, in the list of a task, or in both. Whichever brings it back first marks it as gone, under the lock, and it stays in the
/// other until that comes to it. Items go back to the source under the lock, and the run hears of them without it. After the queue was closed, at the end of the
/// run, it takes no item, and a task that ends finds nothing to call.
/// </remarks>
internal sealed class DelayQueue<T>(Source<T> source, TimeProvider time, Action<int> due, IUnattended run) : IUnattended, IDisposable
{
    private const int FewGone = 64;

    private readonly Lock _lock = new();

    // Under _lock, as the entries are.
    private readonly PriorityQueue<Entry, (long Due, long Index)> _byTime = new();
    private Dictionary<Task, Entry>? _byTask;
    private int _gone;
    private WakeUp? _wakeUp;
    private ITimer? _timer;
    private long _timerDue = long.MaxValue;
    private bool _closed;

    // Atomic: changed under _lock, read by any thread.
    private int _forCircuit;
    private int _forPermit;
    private int _forRate;

    /// <summary>How many of the items wait for a circuit, how many for a permit of a shared limit, and how many at a rate limit.</summary>
    public (int ForCircuit, int ForPermit, int ForRate) Kinds =>
        (Volatile.Read(ref _forCircuit), Volatile.Read(ref _forPermit), Volatile.Read(ref _forRate));

    /// <summary>Takes an item that waits.</summary>
    /// <param name="item">A chunk of the one item.</param>
    /// <param name="dueAt">
    /// When it comes back, as a timestamp of the clock; <see cref="long.MaxValue"/> if only <paramref name="until"/> brings it back.
    /// </param>
    /// <param name="until">What brings it back before that, if anything does. Items that wait for the same thing give the same task.</param>
    /// <returns>False when the run is over and the item was not taken.</returns>
    public bool TryAdd(in Chunk<T> item, long dueAt, Task? until)
    {
        WakeUp? wakeUp = null;
        lock (_lock)
        {
            if (_closed)
            {
                return false;
            }

            Entry entry = new(item);
            CountNeedsLock(item, 1);
            if (until is not null)
            {
                _byTask ??= [];
                if (_byTask.TryGetValue(until, out Entry? first))
                {
                    while (first is { IsGone: true })
                    {
                        first = first.Next;
                    }

                    entry.Next = first;
                }
                else
                {
                    wakeUp = _wakeUp ??= new WakeUp(this);
                }

                _byTask[until] = entry;
            }

            if (dueAt < long.MaxValue || until is null)
            {
                entry.IsTimed = true;
                _byTime.Enqueue(entry, (dueAt, item.FirstIndex));
                SetTimerNeedsLock();
            }
        }

        // A task that has ended already calls back like any other.
        wakeUp?.CallAfter(until!);
        return true;
    }

    /// <summary>Gives back what waits for a task that has ended.</summary>
    public void Wake(Task until)
    {
        FaultPoint.Pass("DelayQueue.Wake", run);
        int count = 0;
        lock (_lock)
        {
            if (_closed || _byTask is null || !_byTask.Remove(until, out Entry? entry))
            {
                return;
            }

            for (; entry is not null; entry = entry.Next)
            {
                if (!entry.IsGone)
                {
                    _gone += entry.IsTimed ? 1 : 0;
                    GiveBackNeedsLock(entry);
                    count++;
                }
            }

            SweepNeedsLock();
        }

        if (count > 0)
        {
            due(count);
        }
    }

    /// <summary>Returns all waiting items, and takes no more.</summary>
    public IReadOnlyList<Chunk<T>> Close()
    {
        lock (_lock)
        {
            _closed = true;
            _timer?.Dispose();
            _timer = null;
            _wakeUp?.Close();
            List<Chunk<T>> left = [.. _byTime.UnorderedItems.Where(static timed => !timed.Element.IsGone).Select(static timed => timed.Element.Item)];
            foreach (Entry first in _byTask?.Values ?? Enumerable.Empty<Entry>())
            {
                for (Entry? entry = first; entry is not null; entry = entry.Next)
                {
                    if (!entry.IsTimed)
                    {
                        left.Add(entry.Item);
                    }
                }
            }

            _byTime.Clear();
            _byTask = null;
            _forCircuit = 0;
            _forPermit = 0;
            _forRate = 0;
            return left;
        }
    }

    public void Dispose() => Close();

    /// <summary>The timer, or what an item waited for, could not bring items back: the run fails.</summary>
    public void WorkFailed(Exception error) => run.WorkFailed(error);

    private void CountNeedsLock(in Chunk<T> item, int change)
    {
        switch (item.Repetition?.Kind)
        {
            case WaitKind.CircuitBreaker:
                _forCircuit += change;
                break;
            case WaitKind.ConcurrencyLimit:
                _forPermit += change;
                break;
            case WaitKind.RateLimit:
                _forRate += change;
                break;
        }
    }

    private void GiveBackNeedsLock(Entry entry)
    {
        CountNeedsLock(entry.Item, -1);
        source.GiveBack(entry.Item);
        entry.Item = default;
        entry.IsGone = true;
    }

    /// <summary>Forgets items that came back before they were due: at the head, and all of them once they are most of the queue.</summary>
    private void SweepNeedsLock()
    {
        while (_byTime.TryPeek(out Entry? first, out _) && first.IsGone)
        {
            _byTime.Dequeue();
            _gone--;
        }

        if (_gone > FewGone && _gone > _byTime.Count / 2)
        {
            (Entry Element, (long Due, long Index) Priority)[] waiting = [.. _byTime.UnorderedItems.Where(static timed => !timed.Element.IsGone)];
            _byTime.Clear();
            _byTime.EnqueueRange(waiting);
            _gone = 0;
        }
    }

    private void SetTimerNeedsLock()
    {
        if (!_byTime.TryPeek(out _, out (long Due, long Index) first) || first.Due == _timerDue)
        {
            return;
        }

        _timerDue = first.Due;
        _timer ??= WatchTime.CreateTimer(time, static queue => ((DelayQueue<T>)queue!).Fire(), this);
        TimeSpan left = time.GetElapsedTime(time.GetTimestamp(), first.Due);

        // Rounded up to whole milliseconds, so that a timer never fires early because of its own rounding, and never spins.
        _timer.Change(TimeSpan.FromMilliseconds(Math.Max(0, Math.Ceiling(left.TotalMilliseconds))), Timeout.InfiniteTimeSpan);
    }

    private void Fire()
    {
        FaultPoint.Pass("DelayQueue.Fire", run);
        int count = 0;
        lock (_lock)
        {
            _timerDue = long.MaxValue;
            long now = time.GetTimestamp();
            while (_byTime.TryPeek(out Entry? first, out (long Due, long Index) next) && (first.IsGone || next.Due <= now))
            {
                _byTime.Dequeue();
                if (first.IsGone)
                {
                    _gone--;
                }
                else
                {
                    GiveBackNeedsLock(first);
                    count++;
                }
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

    /// <summary>A waiting item, in the queue by time, in the list of a task, or in both.</summary>
    private sealed class Entry(Chunk<T> item)
    {
        public Chunk<T> Item = item;

        /// <summary>The next one that waits for the same task.</summary>
        public Entry? Next { get; set; }

        public bool IsTimed { get; set; }

        /// <summary>Whether it has come back, and it is left only in the other order.</summary>
        public bool IsGone { get; set; }
    }

    /// <summary>
    /// Calls a run's <see cref="DelayQueue{T}"/> when something has happened that its items wait for. What happens may be a long time off and outlive the run,
    /// which this lets go of at its end.
    /// </summary>
    private sealed class WakeUp(DelayQueue<T> queue)
    {
        // Atomic: null after the end of the run. A call that comes just as the run ends finds the queue, which is closed by then, or nothing.
        private volatile DelayQueue<T>? _queue = queue;

        /// <remarks>
        /// At once, if the task allows it: items that are told one after the other come back in that order, and each may be claimed as soon as it is back.
        /// </remarks>
        public void CallAfter(Task until)
        {
            // A continuation keeps the context it was made in until the task ends, and with it the values of the run's caller.
            bool flows = !ExecutionContext.IsFlowSuppressed();
            AsyncFlowControl flow = flows ? ExecutionContext.SuppressFlow() : default;
            try
            {
                until.ContinueWith(
                    static (ended, wakeUp) => ((WakeUp)wakeUp!).Tell(ended),
                    this,
                    CancellationToken.None,
                    TaskContinuationOptions.ExecuteSynchronously,
                    UrgentScheduler.Instance);
            }
            finally
            {
                if (flows)
                {
                    flow.Undo();
                }
            }
        }

        public void Close() => _queue = null;

        private void Tell(Task ended)
        {
            if (_queue is { } queue)
            {
                try
                {
                    queue.Wake(ended);
                }
                catch (Exception e)
                {
                    Unattended.TryReport(queue, e);
                }
            }
        }
    }
}
