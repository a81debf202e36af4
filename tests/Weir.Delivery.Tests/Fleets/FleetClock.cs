namespace Weir.Delivery.Tests.Fleets;

/// <summary>
/// A clock for thousands of timers that stands still until the fleet moves it. Timers fire on the thread that moves it, in the order of their due times.
/// </summary>
internal sealed class FleetClock : TimeProvider
{
    private readonly Lock _lock = new();
    private readonly PriorityQueue<(FleetTimer Timer, long Version), (long Due, long Number)> _due = new();
    private long _now;
    private long _number;

    public override long TimestampFrequency => TimeSpan.TicksPerSecond;

    public TimeSpan Now => TimeSpan.FromTicks(Volatile.Read(ref _now));

    /// <summary>When the next timer fires; null if none is armed.</summary>
    public TimeSpan? NextDue
    {
        get
        {
            lock (_lock)
            {
                return NextNeedsLock() is { } next ? TimeSpan.FromTicks(next.Due) : null;
            }
        }
    }

    /// <summary>Called before a timer is armed. What it returns is called when the timer is armed, and when it fires, before its callback.</summary>
    public Func<(Action Armed, Action Fired)?> OnArm { get; set; } = static () => null;

    public override long GetTimestamp() => Volatile.Read(ref _now);

    public override DateTimeOffset GetUtcNow() => DateTimeOffset.UnixEpoch.AddTicks(GetTimestamp());

    public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period)
    {
        var timer = new FleetTimer(this, () => callback(state));
        timer.Change(dueTime, period);
        return timer;
    }

    /// <summary>Moves the clock, and fires what falls due on the way.</summary>
    public void AdvanceTo(TimeSpan time)
    {
        while (true)
        {
            Action fire;
            lock (_lock)
            {
                if (NextNeedsLock() is not { } next || next.Due > time.Ticks)
                {
                    _now = Math.Max(_now, time.Ticks);
                    return;
                }

                _due.Dequeue();
                _now = Math.Max(_now, next.Due);
                fire = next.Timer.TakeNeedsLock();
            }

            fire();
        }
    }

    private (FleetTimer Timer, long Due)? NextNeedsLock()
    {
        while (_due.TryPeek(out (FleetTimer Timer, long Version) next, out (long Due, long) at))
        {
            if (next.Timer.Version == next.Version)
            {
                return (next.Timer, at.Due);
            }

            _due.Dequeue();
        }

        return null;
    }

    private sealed class FleetTimer(FleetClock clock, Action callback) : ITimer
    {
        private Action? _atFire;

        public long Version { get; private set; }

        public Action TakeNeedsLock()
        {
            Version++;
            Action? atFire = _atFire;
            return () =>
            {
                atFire?.Invoke();
                callback();
            };
        }

        public bool Change(TimeSpan dueTime, TimeSpan period)
        {
            Assert.Equal(Timeout.InfiniteTimeSpan, period);
            bool isArmed = dueTime != Timeout.InfiniteTimeSpan;
            (Action Armed, Action Fired)? waiter = isArmed ? clock.OnArm() : null;
            lock (clock._lock)
            {
                Version++;
                _atFire = waiter?.Fired;
                if (isArmed)
                {
                    clock._due.Enqueue((this, Version), (clock._now + dueTime.Ticks, ++clock._number));
                }
            }

            waiter?.Armed();
            return true;
        }

        public void Dispose()
        {
            lock (clock._lock)
            {
                Version++;
            }
        }

        public ValueTask DisposeAsync()
        {
            Dispose();
            return default;
        }
    }
}
