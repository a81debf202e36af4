namespace Weir.Explore.Scheduling;

/// <summary>A timer on the time of a schedule, which calls on a thread of the pool.</summary>
internal sealed class VirtualTimer(Execution execution, TimerCallback callback, object? state) : ITimer
{
    private readonly ExecutionContext? _context = ExecutionContext.Capture();
    private VectorClock? _after;
    private TimeSpan _period;
    private bool _isDisposed;

    public long DueAt { get; private set; } = long.MaxValue;

    public bool Change(TimeSpan dueTime, TimeSpan period)
    {
        execution.Conflicts?.Use(ControlledThread.Current, this);
        if (_isDisposed)
        {
            return false;
        }

        _period = period;
        _after = ControlledThread.Current is { } me ? execution.Races?.Fork(me) : null;
        Set(dueTime < TimeSpan.Zero ? long.MaxValue : execution.Now + dueTime.Ticks);
        return true;
    }

    public void Fire()
    {
        Set(_period > TimeSpan.Zero ? execution.Ticks + _period.Ticks : long.MaxValue);
        execution.Create("timer", Call, _context, _after, this).IsBackground = true;
    }

    public void Dispose()
    {
        execution.Conflicts?.Use(ControlledThread.Current, this);
        _isDisposed = true;
        Set(long.MaxValue);
    }

    public ValueTask DisposeAsync()
    {
        Dispose();
        return default;
    }

    private void Set(long dueAt)
    {
        execution.Timers.Remove(this);
        DueAt = dueAt;
        if (dueAt != long.MaxValue)
        {
            execution.Timers.Add(this);
        }
    }

    private void Call()
    {
        if (ControlledThread.Current is { } me && callback.Method.Module == typeof(object).Module)
        {
            // The platform does in it what nobody is told of.
            execution.Conflicts?.Unknown(me);
        }

        callback(state);
    }
}
