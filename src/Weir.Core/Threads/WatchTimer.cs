namespace Weir.Core.Threads;

/// <summary>
/// A timer of the watch. Its callback runs on the watch's thread, which all runs of the process share: it must be short and run no user code.
/// </summary>
internal sealed class WatchTimer(WatchThread watch, TimerCallback callback, object? state) : ITimer
{
    public WatchTimer(TimerCallback callback, object? state)
        : this(WatchThread.Shared, callback, state)
    {
    }

    /// <summary>When it fires, as a Stopwatch timestamp. Guarded by the watch's lock, like everything below.</summary>
    public long Due;

    /// <summary>The interval, in Stopwatch ticks; 0 if it fires only once.</summary>
    public long Period;

    /// <summary>The position in the watch's heap; -1 while it is not armed.</summary>
    public int Place = -1;

    public bool IsDisposed;

    /// <summary>Runs the callback. What it throws is the failure of whose timer it is: that of the state.</summary>
    /// <returns>False if it threw and nobody could be told, so that it has to fire again.</returns>
    public bool TryFire()
    {
        try
        {
            FaultPoint.Pass(nameof(WatchTimer), state ?? this);
            callback(state);
            return true;
        }
        catch (Exception e)
        {
            return Unattended.TryReport(state, e);
        }
    }

    public bool Change(TimeSpan dueTime, TimeSpan period) => watch.Set(this, dueTime, period);

    public void Dispose() => watch.Remove(this);

    public ValueTask DisposeAsync()
    {
        Dispose();
        return default;
    }
}
