namespace Weir.TestKit;

/// <summary>A clock of a user's that fails while a test says so. Thread-safe.</summary>
public sealed class BrokenTimeProvider(TimeProvider inner) : TimeProvider
{
    private volatile bool _failsForTimers;
    private volatile bool _failsForTimestamps;

    public bool FailsForTimers
    {
        get => _failsForTimers;
        set => _failsForTimers = value;
    }

    public bool FailsForTimestamps
    {
        get => _failsForTimestamps;
        set => _failsForTimestamps = value;
    }

    public override long TimestampFrequency => inner.TimestampFrequency;

    public override long GetTimestamp() => FailsForTimestamps ? throw new IOException() : inner.GetTimestamp();

    public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period) =>
        FailsForTimers ? throw new IOException() : inner.CreateTimer(callback, state, dueTime, period);
}
