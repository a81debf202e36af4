using System.Diagnostics.CodeAnalysis;
using Weir.Core;
using Weir.Core.Threads;

namespace Weir.Runtimes;

/// <summary>
/// Checks the running calls every few milliseconds and tells them how busy the process is. There is one timer for the process, on the watch's own thread. It is
/// stopped while no calls run.
/// </summary>
internal static class AutoWatch
{
    private const int PeriodMilliseconds = 10;

    // The idle periods before the timer is stopped, so that a series of short calls does not start and stop it each time.
    private const int IdlePeriods = 100;

    private static readonly Lock Gate = new();
    private static readonly List<AutoCall> Calls = [];

    // Threads and their stalls are real, so this clock is the system's, not the call's.
    private static readonly WatchTimer Timer = new(static _ => Tick(), null);
    private static bool _ticking;
    private static int _idle;
    private static TimeSpan _cpu;
    private static long _stamp;

    public static void Add(AutoCall call)
    {
        bool start;
        using (Gate.Hold())
        {
            call.WatchIndex = Calls.Count;
            Calls.Add(call);
            start = !_ticking;
            _ticking = true;
        }

        if (start)
        {
            Timer.Change(TimeSpan.FromMilliseconds(PeriodMilliseconds), TimeSpan.FromMilliseconds(PeriodMilliseconds));
        }
    }

    public static void Remove(AutoCall call)
    {
        using (Gate.Hold())
        {
            int index = call.WatchIndex;
            if (index < 0)
            {
                return;
            }

            AutoCall last = Calls[^1];
            Calls[index] = last;
            last.WatchIndex = index;
            Calls.RemoveAt(Calls.Count - 1);
            call.WatchIndex = -1;
        }
    }

    private static void Tick()
    {
        AutoCall[] calls;
        using (Gate.Hold())
        {
            _idle = Calls.Count == 0 ? _idle + 1 : 0;
            if (_idle > IdlePeriods)
            {
                _idle = 0;
                _ticking = false;
                Timer.Change(Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
                return;
            }

            if (Calls.Count == 0)
            {
                return;
            }

            calls = [.. Calls];
        }

        double cores = BusyCores();
        foreach (AutoCall call in calls)
        {
            call.Tick(cores);
        }
    }

    // While it is not known, nothing is considered blocked.
    [SuppressMessage("Interoperability", "CA1416:Validate platform compatibility", Justification = "Guarded by the platform checks.")]
    private static double BusyCores()
    {
        if (OperatingSystem.IsIOS() || OperatingSystem.IsTvOS() || OperatingSystem.IsBrowser())
        {
            return Environment.ProcessorCount;
        }

        TimeSpan cpu = Environment.CpuUsage.TotalTime;
        long stamp = TimeProvider.System.GetTimestamp();
        TimeSpan wall = TimeProvider.System.GetElapsedTime(_stamp, stamp);
        double cores = wall > TimeSpan.Zero ? (cpu - _cpu) / wall : Environment.ProcessorCount;
        _cpu = cpu;
        _stamp = stamp;
        return cores;
    }
}
