namespace Weir.TestKit;

/// <summary>
/// A clock that remembers, for each thread, what it read last: the time by which a decision was made that the thread goes on with. A reading of the test's
/// own would come later, by as much as the thread is held up in between.
/// </summary>
public sealed class LastReadTimeProvider(TimeProvider inner) : TimeProvider, IDisposable
{
    private readonly ThreadLocal<long> _last = new();

    public override long TimestampFrequency => inner.TimestampFrequency;

    /// <summary>What the current thread read last.</summary>
    public long LastRead => _last.Value;

    public override long GetTimestamp() => _last.Value = inner.GetTimestamp();

    public override DateTimeOffset GetUtcNow() => inner.GetUtcNow();

    public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period) =>
        inner.CreateTimer(callback, state, dueTime, period);

    public void Dispose() => _last.Dispose();
}
