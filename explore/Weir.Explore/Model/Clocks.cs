namespace Weir.Explore.Model;

#pragma warning disable IDE1006 // The names of the properties' methods.
[Replaces("System.TimeProvider")]
[Replaces("System.Threading.Tasks.TaskScheduler")]
[Replaces("System.Random")]
[Replaces("System.Environment")]
internal static class Clocks
{
    public static TimeProvider get_System() => Time.Provider;
    public static TaskScheduler get_Default() => PoolScheduler.Instance;
    public static TaskScheduler get_Current() => PoolScheduler.InPlaceOf(TaskScheduler.Current);
    public static Random get_Shared() => Points.Me.Execution.Random;

    public static Random New()
    {
        Random random = Points.Me.Execution.Random;
        Effects.Write(random);
        return new Random(random.Next());
    }

    public static long get_TickCount64() => Time.Ticks / TimeSpan.TicksPerMillisecond;

    public static int get_TickCount() => (int)get_TickCount64();
    public static int get_CurrentManagedThreadId() => Points.Me.Execution.IdOf(Points.Me);
    public static int get_ProcessorCount() => 4;
    public static Environment.ProcessCpuUsage get_CpuUsage() => default;
}

[Replaces("System.Diagnostics.Stopwatch")]
internal sealed class StopwatchModel
{
    public static readonly long Frequency = Stopwatch.Frequency;
    public static readonly bool IsHighResolution = Stopwatch.IsHighResolution;

    private long _startedAt;
    private long _before;

    public bool IsRunning { get; private set; }

    public TimeSpan Elapsed => GetElapsedTime(0, ElapsedTicks);
    public long ElapsedTicks => _before + (IsRunning ? GetTimestamp() - _startedAt : 0);
    public long ElapsedMilliseconds => Elapsed.Ticks / TimeSpan.TicksPerMillisecond;
    public static long GetTimestamp() => Time.Provider.GetTimestamp();
    public static TimeSpan GetElapsedTime(long startingTimestamp) => Time.Provider.GetElapsedTime(startingTimestamp);
    public static TimeSpan GetElapsedTime(long startingTimestamp, long endingTimestamp) => Stopwatch.GetElapsedTime(startingTimestamp, endingTimestamp);

    public static StopwatchModel StartNew()
    {
        StopwatchModel watch = new();
        watch.Start();
        return watch;
    }

    public void Start()
    {
        Stop();
        (_startedAt, IsRunning) = (GetTimestamp(), true);
    }

    public void Stop() => (_before, IsRunning) = (ElapsedTicks, false);
    public void Reset() => (_before, IsRunning) = (0, false);

    public void Restart()
    {
        Reset();
        Start();
    }
}

[Replaces("System.DateTime")]
internal static class DateTimes
{
    public static DateTime get_UtcNow() => Time.Provider.GetUtcNow().UtcDateTime;
    public static DateTime get_Now() => Time.Provider.GetUtcNow().UtcDateTime;
    public static DateTime get_Today() => get_Now().Date;
}

[Replaces("System.DateTimeOffset")]
internal static class DateTimeOffsets
{
    public static DateTimeOffset get_UtcNow() => Time.Provider.GetUtcNow();
    public static DateTimeOffset get_Now() => Time.Provider.GetUtcNow();
}

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

    public void Dispose()
    {
        ControlledThread.Current?.StepOn(_timer);
        _timer.Dispose();
    }

    public ValueTask DisposeAsync()
    {
        Points.Me.StepOn(_timer);
        return _timer.DisposeAsync();
    }
}

/// <summary>Timers of a provider of time, of which the platform's code calls those that it made without a point.</summary>
[Replaces("System.Threading.ITimer")]
[Replaces("System.IAsyncDisposable")]
internal static class ProvidedTimers
{
    public static bool Change(ITimer timer, TimeSpan dueTime, TimeSpan period)
    {
        Step(timer);
        return timer.Change(dueTime, period);
    }

    public static ValueTask DisposeAsync(IAsyncDisposable disposable)
    {
        Step(disposable);
        return disposable.DisposeAsync();
    }

    public static void Step(object disposable)
    {
        if (disposable is VirtualTimer)
        {
            Points.Me.StepOn(disposable);
        }
    }
}
