namespace Weir.Explore.Model;

/// <summary>The time of the schedule, in place of the system's.</summary>
internal sealed class Time : TimeProvider
{
    private static readonly DateTimeOffset Start = new(2020, 1, 1, 0, 0, 0, TimeSpan.Zero);

    public static Time Provider { get; } = new();

    public override TimeZoneInfo LocalTimeZone => TimeZoneInfo.Utc;
    public static long Ticks => ControlledThread.Current?.Execution.Now ?? 0;

    /// <summary>A time limit, if the platform takes it for one.</summary>
    public static TimeSpan Limit(TimeSpan timeout) => (long)timeout.TotalMilliseconds is >= -1 and <= int.MaxValue
        ? timeout
        : throw new ArgumentOutOfRangeException(nameof(timeout));

    public static TimeSpan Limit(int millisecondsTimeout) => millisecondsTimeout >= -1
        ? TimeSpan.FromMilliseconds(millisecondsTimeout)
        : throw new ArgumentOutOfRangeException(nameof(millisecondsTimeout));

    public override DateTimeOffset GetUtcNow() => Start.AddTicks(Ticks);

    // Not from zero: code may take that for "never".
    public override long GetTimestamp() => (Ticks + TimeSpan.TicksPerHour) * (Stopwatch.Frequency / TimeSpan.TicksPerSecond);

    public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period)
    {
        VirtualTimer timer = new(Points.Me.Execution, callback, state);
        timer.Change(dueTime, period);
        return timer;
    }
}
