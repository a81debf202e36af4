namespace Weir.Resilience;

/// <summary>Timestamps of a time provider, and conversions that never round in the unsafe direction.</summary>
internal readonly struct Clock(TimeProvider provider)
{
    private readonly long _frequency = provider.TimestampFrequency;

    public TimeProvider Provider => provider;

    public long Now => provider.GetTimestamp();

    /// <summary>The duration in the clock's own ticks, rounded up, so that nothing that waits for it is early.</summary>
    public long ToTicks(TimeSpan span) => CeilingDivide((Int128)span.Ticks * _frequency, TimeSpan.TicksPerSecond);

    /// <summary>The duration of a number of the clock's ticks, rounded up to 100 ns; zero for a negative number.</summary>
    public TimeSpan ToTimeSpan(long ticks) =>
        ticks <= 0 ? TimeSpan.Zero : new TimeSpan(CeilingDivide((Int128)ticks * TimeSpan.TicksPerSecond, _frequency));

    private static long CeilingDivide(Int128 dividend, long divisor) => (long)Int128.Min((dividend + divisor - 1) / divisor, long.MaxValue);
}

/// <summary>When the time of a call is up. The default value: never.</summary>
internal readonly struct Deadline(Clock clock, long at)
{
    /// <summary>What is left of the time; null for any time. The clock is the user's: one that fails takes no wait away.</summary>
    public TimeSpan? Left
    {
        get
        {
            try
            {
                return clock.Provider is null ? null : clock.ToTimeSpan(at - clock.Now);
            }
            catch (Exception)
            {
                return null;
            }
        }
    }
}

/// <summary>Waits with timers that work in whole milliseconds, without waking too early.</summary>
public static class TimerDelay
{
    /// <summary>The longest time a timer can be set to: 2^32 - 2 milliseconds, about 49 days.</summary>
    internal static TimeSpan Longest { get; } = TimeSpan.FromMilliseconds(uint.MaxValue - 1);

    /// <summary>Rounds a delay up to a value that a timer supports.</summary>
    /// <param name="delay">The delay, at any resolution.</param>
    /// <returns>The delay in whole milliseconds, rounded up, at most 2^32 - 2 milliseconds; zero for a negative one.</returns>
    /// <remarks>
    /// The platform's timers truncate a delay to whole milliseconds, so 0.9 ms would be no delay at all. Use this method if you wait in your own code for a
    /// delay from <see cref="RetryPolicy"/> or <see cref="TokenBucket"/>.
    /// </remarks>
    public static TimeSpan RoundUp(TimeSpan delay)
    {
        if (delay <= TimeSpan.Zero)
        {
            return TimeSpan.Zero;
        }

        if (delay >= Longest)
        {
            return Longest;
        }

        long part = delay.Ticks % TimeSpan.TicksPerMillisecond;
        return part == 0 ? delay : new TimeSpan(delay.Ticks - part + TimeSpan.TicksPerMillisecond);
    }

    /// <summary>Waits until the clock has reached a timestamp. Waits again if a timer fired early or could not be set that far.</summary>
    internal static async Task WaitUntilAsync(long timestamp, Clock clock, CancellationToken cancellationToken)
    {
        while (true)
        {
            TimeSpan remaining = clock.ToTimeSpan(timestamp - clock.Now);
            if (remaining == TimeSpan.Zero)
            {
                return;
            }

            await Task.Delay(RoundUp(remaining), clock.Provider, cancellationToken).ConfigureAwait(false);
        }
    }
}
