namespace Weir.Core.Threads;

/// <summary>The system's clock with the watch's timers, which fire even while no pool thread is free.</summary>
internal sealed class WatchTime : TimeProvider
{
    public static readonly WatchTime Instance = new();

    /// <summary>The provider for the engine's own timers: the run's clock, unless that is the system's.</summary>
    public static TimeProvider For(TimeProvider time) => time == System ? Instance : time;

    public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period)
    {
        WatchTimer timer = new(callback, state);
        timer.Change(dueTime, period);
        return timer;
    }
}
