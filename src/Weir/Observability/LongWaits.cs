using Weir.Core;
using Weir.Core.Dispatch;
using Weir.Core.Metering;
using Weir.Core.Threads;

namespace Weir.Observability;

/// <summary>
/// The waits of one run that is logged: tells of those that last long while they last, and when they end. One timer, which is armed only while items wait. The
/// first look comes when the first wait may have become long.
/// </summary>
/// <remarks>
/// What waits at the same limit is told together, once when the first wait becomes long, and again after as long, twice as long, and so on, up to an hour. So a
/// wait that never ends is told some times in its first minutes, and hourly after that.
/// </remarks>
internal sealed class LongWaits(RunEvents events, TimeProvider time) : WaitListener, IThreadPoolWorkItem, IDisposable
{
    private static readonly TimeSpan ShortestPause = TimeSpan.FromMilliseconds(100);
    private static readonly TimeSpan LongestPause = TimeSpan.FromHours(1);

    private readonly Lock _lock = new();
    private readonly Waiting[] _kinds = [new("circuit_breaker"), new("concurrency_limit"), new("rate_limit")];
    private readonly TimeSpan _long = events.LongWait;
    private Pump? _run;
    private ITimer? _timer;
    private bool _isArmed;
    private bool _closed;

    /// <summary>The waits of a run, if somebody wants to know of them.</summary>
    public static LongWaits? Of(ParallelRunOptions options) =>
        options.Events is { } events && events.LongWait != Timeout.InfiniteTimeSpan ? new LongWaits(events, options.TimeProvider) : null;

    /// <summary>The run has been created.</summary>
    public void Attach(Pump run) => _run = run;

    public override void Began(WaitKind kind, long since)
    {
        if (Of(kind) is not { } waiting)
        {
            return;
        }

        lock (_lock)
        {
            waiting.Add(since);
            if (!_isArmed)
            {
                ArmNeedsLock(_long);
            }
        }
    }

    public override void Ended(WaitKind kind, long since)
    {
        if (Of(kind) is not { } waiting)
        {
            return;
        }

        lock (_lock)
        {
            waiting.Remove(since);
        }

        // That a circuit has closed is told by a line of its own; and an item may come back only to find it open.
        if (kind != WaitKind.CircuitBreaker && time.GetElapsedTime(since) is var elapsed && elapsed >= _long)
        {
            events.WaitedLong(waiting.Limit, elapsed);
        }
    }

    /// <summary>The run has ended.</summary>
    public void Dispose()
    {
        ITimer? timer;
        lock (_lock)
        {
            _closed = true;
            timer = _timer;
        }

        timer?.Dispose();
    }

    /// <summary>A look. There is never more than one, because it arms the timer of the next.</summary>
    void IThreadPoolWorkItem.Execute()
    {
        try
        {
            List<(string Limit, int Count, TimeSpan Longest)> told = [];
            long now = time.GetTimestamp();
            lock (_lock)
            {
                // A run that was stopped starts none of the items that wait, but may have to wait for its calls.
                if (_closed || _run!.IsOver)
                {
                    return;
                }

                foreach (Waiting waiting in _kinds)
                {
                    TimeSpan longest = waiting.LongestNeedsLock(time, now);
                    if (waiting.IsToldNeedsLock(longest, _long, now, time))
                    {
                        told.Add((waiting.Limit, waiting.Count, longest));
                    }
                }
            }

            foreach ((string limit, int count, TimeSpan longest) in told)
            {
                events.StillWaiting(limit, count, longest);
            }

            // A logger may have taken its time.
            now = time.GetTimestamp();
            lock (_lock)
            {
                TimeSpan? next = null;
                foreach (Waiting waiting in _kinds)
                {
                    next = waiting.NextNeedsLock(time, now, _long) is { } due && !(due > next) ? due : next;
                }

                _isArmed = false;
                if (next is { } pause)
                {
                    ArmNeedsLock(pause);
                }
            }
        }
        catch (Exception)
        {
            // The clock may be the user's, and there may be no memory: nothing more is told of this run.
        }
    }

    // Retries are told one by one, with their delays.
    private Waiting? Of(WaitKind kind) => kind == WaitKind.Retry ? null : _kinds[(int)kind - (int)WaitKind.CircuitBreaker];

    private void ArmNeedsLock(TimeSpan pause)
    {
        if (_closed)
        {
            return;
        }

        _isArmed = true;

        // A logger must not run on the thread of the timer, and the items that wait may hold all threads of the pool.
        _timer ??= WatchTime.CreateTimer(time, static waits => UrgentWork.Queue((LongWaits)waits!), this);
        pause = pause < ShortestPause ? ShortestPause : pause > LongestPause ? LongestPause : pause;
        _timer.Change(TimeSpan.FromMilliseconds(Math.Ceiling(pause.TotalMilliseconds)), Timeout.InfiniteTimeSpan);
    }

    /// <summary>What waits for the same. Guarded by the lock.</summary>
    private sealed class Waiting(string limit)
    {
        // How many wait since when. Many begin at once, and most end in the order in which they began.
        private readonly Dictionary<long, int> _since = [];

        // Long waits are told as one for as long as looks find some. One look may find none: items that come back to find their circuit open are under way.
        private const int LooksWithout = 2;
        private int _without = LooksWithout;
        private long _toldAt;
        private TimeSpan _pause;

        public string Limit => limit;

        public int Count { get; private set; }

        private bool IsLasting => _without < LooksWithout;

        public void Add(long since)
        {
            Count++;
            _since[since] = _since.GetValueOrDefault(since) + 1;
        }

        public void Remove(long since)
        {
            // An item of a run that was stopped was perhaps not taken.
            if (!_since.Remove(since, out int count))
            {
                return;
            }

            Count--;
            if (count > 1)
            {
                _since[since] = count - 1;
            }
        }

        /// <summary>How long the first has waited.</summary>
        public TimeSpan LongestNeedsLock(TimeProvider time, long now) => Count == 0 ? TimeSpan.Zero : time.GetElapsedTime(_since.Keys.Min(), now);

        /// <summary>Whether a look at a given time tells of them.</summary>
        public bool IsToldNeedsLock(TimeSpan longest, TimeSpan limit, long now, TimeProvider time)
        {
            if (Count == 0 || longest < limit)
            {
                _without = Math.Min(LooksWithout, _without + 1);
                return false;
            }

            bool isFirst = !IsLasting;
            _without = 0;
            if (!isFirst && time.GetElapsedTime(_toldAt, now) < _pause)
            {
                return false;
            }

            _toldAt = now;
            _pause = isFirst ? limit : _pause * 2;
            _pause = _pause < ShortestPause ? ShortestPause : _pause > LongestPause ? LongestPause : _pause;
            return true;
        }

        /// <summary>When to look again; null if there is nothing to see.</summary>
        public TimeSpan? NextNeedsLock(TimeProvider time, long now, TimeSpan limit)
        {
            if (IsLasting)
            {
                TimeSpan left = _pause - time.GetElapsedTime(_toldAt, now);
                return left < limit ? left : limit;
            }

            return Count == 0 ? null : limit - LongestNeedsLock(time, now);
        }
    }
}
