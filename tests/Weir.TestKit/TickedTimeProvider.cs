namespace Weir.TestKit;

/// <summary>A manual clock whose timers fire only on a tick, as those of an operating system do: late, and many at once.</summary>
public sealed class TickedTimeProvider(ManualTimeProvider inner, TimeSpan tick) : TimeProvider
{
    public override long TimestampFrequency => inner.TimestampFrequency;

    public override long GetTimestamp() => inner.GetTimestamp();

    public override DateTimeOffset GetUtcNow() => inner.GetUtcNow();

    public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period) =>
        new TickedTimer(this, inner.CreateTimer(callback, state, OnTick(dueTime), period));

    private TimeSpan OnTick(TimeSpan dueTime)
    {
        if (dueTime < TimeSpan.Zero)
        {
            return dueTime;
        }

        long due = inner.GetTimestamp() + dueTime.Ticks;
        long late = (tick.Ticks - (due % tick.Ticks)) % tick.Ticks;
        return new TimeSpan(dueTime.Ticks + late);
    }

    private sealed class TickedTimer(TickedTimeProvider clock, ITimer timer) : ITimer
    {
        public bool Change(TimeSpan dueTime, TimeSpan period) => timer.Change(clock.OnTick(dueTime), period);

        public void Dispose() => timer.Dispose();

        public ValueTask DisposeAsync() => timer.DisposeAsync();
    }
}
