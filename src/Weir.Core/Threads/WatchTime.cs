namespace Weir.Core.Threads;

/// <summary>The system's clock with the watch's timers, which fire even while no pool thread is free.</summary>
internal sealed class WatchTime : TimeProvider
{
    public static readonly WatchTime Instance = new();

    /// <summary>The provider for the engine's own timers: the run's clock, unless that is the system's.</summary>
    public static TimeProvider For(TimeProvider time) => time == System ? Instance : time;

    /// <summary>Creates a timer of the engine: of the watch, or of the run's clock if that is not the system's.</summary>
    /// <param name="time">The clock of the run.</param>
    /// <param name="callback">Must be short and run no user code.</param>
    /// <param name="state">Whose timer it is: what the callback throws is its failure.</param>
    public static ITimer CreateTimer(TimeProvider time, TimerCallback callback, object state) =>
        time == System
            ? new WatchTimer(callback, state)
            : time.CreateTimer(
                static timer => ((WatchTimer)timer!).TryFire(), new WatchTimer(callback, state), Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);

    public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period)
    {
        WatchTimer timer = new(callback, state);
        timer.Change(dueTime, period);
        return timer;
    }
}
