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
