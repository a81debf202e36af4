namespace Weir.Core.Threads;

/// <summary>The system's clock with the watch's timers, which fire also while no thread of the pool is free.</summary>
internal sealed class WatchTime : TimeProvider
{
    public static WatchTime Instance { get; } = new();

    /// <summary>What to make the engine's own timers with: a run's clock, unless that is the system's.</summary>
    public static TimeProvider For(TimeProvider time) => time == System ? Instance : time;

    public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period)
    {
        WatchTimer timer = new(callback, state);
        timer.Change(dueTime, period);
        return timer;
    }
}
