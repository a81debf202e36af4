namespace Weir.TestKit;

/// <summary>A clock that fails when a test says so: asked for the time or a timer, or when one of its timers is disposed of. Thread-safe.</summary>
public sealed class FaultyTimeProvider(TimeProvider inner) : TimeProvider
{
    private const int Never = int.MaxValue;

    private int _left = Never;
    private volatile bool _failsToMakeTimers;
    private volatile bool _failsToDispose;

    public override long TimestampFrequency => inner.TimestampFrequency;

    /// <summary>From now on, so many questions for the time are answered, and the others fail.</summary>
    public void FailAfter(int answers) => Volatile.Write(ref _left, answers);

    /// <summary>From now on, it makes no timers.</summary>
    public void FailToMakeTimers() => _failsToMakeTimers = true;

    /// <summary>From now on, its timers cannot be disposed of.</summary>
    public void FailToDispose() => _failsToDispose = true;

    /// <summary>Nothing fails any more.</summary>
    public void Work()
    {
        Volatile.Write(ref _left, Never);
        _failsToMakeTimers = false;
        _failsToDispose = false;
    }

    public override long GetTimestamp() =>
        Volatile.Read(ref _left) != Never && Interlocked.Decrement(ref _left) < 0 ? throw new IOException("The clock fails.") : inner.GetTimestamp();

    public override DateTimeOffset GetUtcNow() => inner.GetUtcNow();

    public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period) =>
        _failsToMakeTimers
            ? throw new IOException("The clock makes no timer.")
            : new Timer(this, inner.CreateTimer(callback, state, dueTime, period));

    private sealed class Timer(FaultyTimeProvider clock, ITimer timer) : ITimer
    {
        public bool Change(TimeSpan dueTime, TimeSpan period) => timer.Change(dueTime, period);

        public void Dispose()
        {
            timer.Dispose();
            if (clock._failsToDispose)
            {
                throw new IOException("The timer fails.");
            }
        }

        public ValueTask DisposeAsync()
        {
            Dispose();
            return default;
        }
    }
}
