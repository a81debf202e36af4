using System.Diagnostics;
using System.Diagnostics.Metrics;
using System.Threading.Tasks.Dataflow;
using Weir.Explore.Scheduling;

namespace Weir.Explore.Model;

#pragma warning disable IDE1006 // The names of the properties' methods.
[Replaces("System.TimeProvider")]
[Replaces("System.Threading.Tasks.TaskScheduler")]
[Replaces("System.Random")]
internal static class Clocks
{
    public static TimeProvider get_System() => Time.Provider;

    public static TaskScheduler get_Default() => PoolScheduler.Instance;

    public static TaskScheduler get_Current() => PoolScheduler.InPlaceOf(TaskScheduler.Current);

    public static Random get_Shared() => Points.Me.Execution.Random;

    public static Random New() => new(Points.Me.Execution.Random.Next());
}

[Replaces("System.Threading.Tasks.Dataflow.DataflowBlockOptions")]
internal static class BlockOptions
{
    public static TaskScheduler get_TaskScheduler(DataflowBlockOptions options) => PoolScheduler.InPlaceOf(options.TaskScheduler);
}

[Replaces("System.IDisposable")]
internal static class Disposing
{
    public static void Dispose(IDisposable disposable)
    {
        if (disposable is CancellationTokenSource source)
        {
            Cancellation.Dispose(source);
        }
        else
        {
            disposable.Dispose();
        }
    }
}

/// <summary>What is registered in the process goes with its schedule.</summary>
[Replaces("System.Diagnostics.Metrics.Meter")]
internal static class Meters
{
    public static Meter New(string name) => Kept(new Meter(name));

    public static Meter New(string name, string? version) => Kept(new Meter(name, version));

    public static Meter New(MeterOptions options) => Kept(new Meter(options));

    public static Meter New(string name, string? version, IEnumerable<KeyValuePair<string, object?>>? tags, object? scope) =>
        Kept(new Meter(name, version, tags, scope));

    private static Meter Kept(Meter meter)
    {
        Statics.DisposeLater(meter);
        return meter;
    }
}

[Replaces("System.Diagnostics.Metrics.MeterListener")]
internal static class MeterListeners
{
    public static MeterListener New()
    {
        MeterListener listener = new();
        Statics.DisposeLater(listener);
        return listener;
    }
}

[Replaces("System.Diagnostics.Stopwatch")]
internal static class Stopwatches
{
    public static long GetTimestamp() => Time.Provider.GetTimestamp();

    public static TimeSpan GetElapsedTime(long startingTimestamp) => Time.Provider.GetElapsedTime(startingTimestamp);
}

[Replaces("System.DateTime")]
internal static class DateTimes
{
    public static DateTime get_UtcNow() => Time.Provider.GetUtcNow().UtcDateTime;

    public static DateTime get_Now() => Time.Provider.GetUtcNow().UtcDateTime;
}

[Replaces("System.DateTimeOffset")]
internal static class DateTimeOffsets
{
    public static DateTimeOffset get_UtcNow() => Time.Provider.GetUtcNow();

    public static DateTimeOffset get_Now() => Time.Provider.GetUtcNow();
}

[Replaces("System.Environment")]
internal static class Environments
{
    public static long get_TickCount64() => Time.Ticks / TimeSpan.TicksPerMillisecond;

    public static int get_TickCount() => (int)get_TickCount64();

    public static int get_CurrentManagedThreadId() => Points.Me.Id;

    public static int get_ProcessorCount() => 4;
}
