namespace Weir.Explore.Tests.Scenarios;

/// <summary>A clock of which each timer that is set fires at some moment, the first times. After that none does, so that a schedule ends.</summary>
internal sealed class FewTicksClock(int ticks) : TimeProvider
{
    private int _left = ticks;

    public override DateTimeOffset GetUtcNow() => DateTimeOffset.UnixEpoch;

    public override long GetTimestamp() => 0;

    public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period) => new Tick(this, () => callback(state));

    private sealed class Tick(FewTicksClock clock, Action callback) : ITimer
    {
        public bool Change(TimeSpan dueTime, TimeSpan period)
        {
            if (dueTime != Timeout.InfiniteTimeSpan && Interlocked.Decrement(ref clock._left) >= 0)
            {
                _ = Task.Run(callback);
            }

            return true;
        }

        public void Dispose()
        {
        }

        public ValueTask DisposeAsync() => default;
    }
}
