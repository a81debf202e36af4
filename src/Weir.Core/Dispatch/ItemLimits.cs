namespace Weir.Core.Dispatch;

/// <summary>How long an item of a run may take, and each of its attempts; as timestamps of the run's clock.</summary>
internal readonly struct ItemLimits(TimeProvider time, TimeSpan? item, TimeSpan? attempt)
{
    public TimeSpan? Item => item;

    public TimeSpan? Attempt => attempt;

    /// <summary>No attempt that starts from now on is due before this time has passed, except that of an item that comes back.</summary>
    public TimeSpan Shortest => item < attempt || attempt is null ? item ?? TimeSpan.MaxValue : attempt.Value;

    /// <summary>When an item is due that began at a given time.</summary>
    public long OfItem(long start) => After(start, item);

    /// <summary>When an attempt is due that began at a given time.</summary>
    public long OfAttempt(long start) => After(start, attempt);

    /// <summary>Whole milliseconds, upwards: a timer that rounds to zero would spin.</summary>
    public static TimeSpan RoundUp(TimeSpan span) => TimeSpan.FromMilliseconds(Math.Max(0, Math.Ceiling(span.TotalMilliseconds)));

    private long After(long start, TimeSpan? limit) => limit is { } span ? start + (long)(span.TotalSeconds * time.TimestampFrequency) : long.MaxValue;
}
