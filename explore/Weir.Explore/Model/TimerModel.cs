namespace Weir.Explore.Model;

[Replaces("System.Threading.Timer")]
internal sealed class TimerModel : ITimer
{
    private readonly ITimer _timer;

    public TimerModel(TimerCallback callback) => _timer = Time.Provider.CreateTimer(callback, this, Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);

    public TimerModel(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period) =>
        _timer = Time.Provider.CreateTimer(callback, state, dueTime, period);

    public TimerModel(TimerCallback callback, object? state, int dueTime, int period)
        : this(callback, state, TimeSpan.FromMilliseconds(dueTime), TimeSpan.FromMilliseconds(period))
    {
    }

    public TimerModel(TimerCallback callback, object? state, long dueTime, long period)
        : this(callback, state, TimeSpan.FromMilliseconds(dueTime), TimeSpan.FromMilliseconds(period))
    {
    }

    public bool Change(TimeSpan dueTime, TimeSpan period)
    {
        Points.Me.StepOn(null);
        return _timer.Change(dueTime, period);
    }

    public bool Change(int dueTime, int period) => Change(TimeSpan.FromMilliseconds(dueTime), TimeSpan.FromMilliseconds(period));

    public bool Change(long dueTime, long period) => Change(TimeSpan.FromMilliseconds(dueTime), TimeSpan.FromMilliseconds(period));

    public void Dispose() => _timer.Dispose();

    public ValueTask DisposeAsync() => _timer.DisposeAsync();
}
