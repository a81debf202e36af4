namespace Weir.TestKit;

/// <summary>A clock that stands still until a test moves it. Timers fire on the thread that moves it, in the order of their due times.</summary>
public sealed class ManualTimeProvider : TimeProvider
{
    private readonly Lock _lock = new();
    private readonly List<ManualTimer> _timers = [];
    private long _now;

    public override long TimestampFrequency => TimeSpan.TicksPerSecond;

    /// <summary>How many timers are armed.</summary>
    public int ArmedTimers
    {
        get
        {
            lock (_lock)
            {
                return _timers.Count(static t => t.Due is not null);
            }
        }
    }

    /// <summary>When the next armed timer fires, on this clock; null when none is armed.</summary>
    public TimeSpan? NextDue
    {
        get
        {
            lock (_lock)
            {
                return _timers.Min(static t => t.Due) is { } due ? TimeSpan.FromTicks(due) : null;
            }
        }
    }

    /// <summary>Whether a timer is armed that fires at this moment of the clock. Others may be armed as well, and may fire before.</summary>
    public bool IsArmedFor(TimeSpan moment)
    {
        lock (_lock)
        {
            return _timers.Exists(t => t.Due == moment.Ticks);
        }
    }

    /// <summary>How many timers exist that nobody has disposed.</summary>
    public int LiveTimers
    {
        get
        {
            lock (_lock)
            {
                return _timers.Count;
            }
        }
    }

    public override long GetTimestamp() => Volatile.Read(ref _now);

    public override DateTimeOffset GetUtcNow() => new DateTimeOffset(2026, 1, 1, 0, 0, 0, TimeSpan.Zero).AddTicks(GetTimestamp());

    public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period)
    {
        var timer = new ManualTimer(this, callback, state);
        lock (_lock)
        {
            _timers.Add(timer);
        }

        timer.Change(dueTime, period);
        return timer;
    }

    /// <summary>Moves the clock, and fires what falls due on the way, each timer at its own moment.</summary>
    public void Advance(TimeSpan by)
    {
        long target = GetTimestamp() + by.Ticks;
        while (true)
        {
            ManualTimer? next;
            lock (_lock)
            {
                next = _timers.Where(t => t.Due <= target).MinBy(static t => t.Due);
                if (next is null)
                {
                    _now = target;
                    return;
                }

                _now = Math.Max(_now, next.Due!.Value);
                next.Due = next.Period is { } period ? _now + period : null;
            }

            next.Fire();
        }
    }

    private sealed class ManualTimer(ManualTimeProvider clock, TimerCallback callback, object? state) : ITimer
    {
        public long? Due { get; set; }

        public long? Period { get; private set; }

        public void Fire() => callback(state);

        public bool Change(TimeSpan dueTime, TimeSpan period)
        {
            // As the timers of the platform do.
            ArgumentOutOfRangeException.ThrowIfGreaterThan(dueTime.TotalMilliseconds, uint.MaxValue - 1, nameof(dueTime));
            lock (clock._lock)
            {
                if (!clock._timers.Contains(this))
                {
                    return false;
                }

                Due = dueTime == Timeout.InfiniteTimeSpan ? null : clock._now + dueTime.Ticks;
                Period = period == Timeout.InfiniteTimeSpan || period == TimeSpan.Zero ? null : period.Ticks;
                return true;
            }
        }

        public void Dispose()
        {
            lock (clock._lock)
            {
                clock._timers.Remove(this);
            }
        }

        public ValueTask DisposeAsync()
        {
            Dispose();
            return default;
        }
    }
}
