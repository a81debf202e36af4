using System.Diagnostics.CodeAnalysis;
using Weir.Core.Threads;

namespace Weir.Core.Dispatch;

/// <summary>
/// Looks at the active runs every few milliseconds, because workers that are all stuck inside long synchronous calls cannot ask for help themselves. There is
/// one timer for the process, on the watch's own thread. It is stopped while no run is active.
/// </summary>
internal static class StallWatch
{
    private const int PeriodMilliseconds = 10;

    // The idle periods before the timer is stopped, so that a series of short runs does not start and stop it each time.
    private const int IdlePeriods = 100;

    private static readonly Lock RunsLock = new();
    private static readonly List<Pump> Runs = [];

    // Threads and their stalls are real, so this clock is the system's, not the run's.
    private static readonly WatchTimer Timer = new(Tick, null);
    private static bool _ticking;
    private static int _idle;
    private static TimeSpan _cpu;
    private static long _stamp;

    public static void Add(Pump run)
    {
        bool start;
        using (RunsLock.Hold())
        {
            run.WatchIndex = Runs.Count;
            Runs.Add(run);
            start = !_ticking;
            _ticking = true;
        }

        if (start)
        {
            Timer.Change(TimeSpan.FromMilliseconds(PeriodMilliseconds), TimeSpan.FromMilliseconds(PeriodMilliseconds));
        }
    }

    public static void Remove(Pump run)
    {
        using (RunsLock.Hold())
        {
            int index = run.WatchIndex;
            if (index < 0)
            {
                return;
            }

            Pump last = Runs[^1];
            Runs[index] = last;
            last.WatchIndex = index;
            Runs.RemoveAt(Runs.Count - 1);
            run.WatchIndex = -1;
        }
    }

    private static void Tick(object? state)
    {
        Pump[] runs;
        using (RunsLock.Hold())
        {
            _idle = Runs.Count == 0 ? _idle + 1 : 0;
            if (_idle > IdlePeriods)
            {
                _idle = 0;
                _ticking = false;
                Timer.Change(Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
                return;
            }

            if (Runs.Count == 0)
            {
                return;
            }

            runs = [.. Runs];
        }

        double cores = BusyCores();
        foreach (Pump run in runs)
        {
            try
            {
                run.OnWatch(cores);
            }
            catch (Exception e)
            {
                // No user code gets here. If the engine itself fails, the run fails with it, and the others keep their watch.
                run.EngineFailed(e);
            }
        }
    }

    [SuppressMessage("Interoperability", "CA1416:Validate platform compatibility", Justification = "Guarded by the platform checks.")]
    private static double BusyCores()
    {
        if (OperatingSystem.IsIOS() || OperatingSystem.IsTvOS() || OperatingSystem.IsBrowser())
        {
            return double.NaN;
        }

        TimeSpan cpu = Environment.CpuUsage.TotalTime;
        long stamp = TimeProvider.System.GetTimestamp();
        TimeSpan wall = TimeProvider.System.GetElapsedTime(_stamp, stamp);
        double cores = wall > TimeSpan.Zero ? (cpu - _cpu) / wall : double.NaN;
        _cpu = cpu;
        _stamp = stamp;
        return cores;
    }
}
