using System.Diagnostics.CodeAnalysis;

namespace Weir.Core.Dispatch;

/// <summary>
/// Looks at the running runs every few milliseconds, and gives one more worker to a run whose workers are all stuck inside long
/// synchronous calls: those cannot ask for help themselves. One timer for the process, stopped while no run is on.
/// </summary>
internal static class StallWatch
{
    private const int PeriodMilliseconds = 10;

    // Idle periods before the timer is stopped, so that a sequence of short runs does not start and stop it each time.
    private const int IdlePeriods = 100;

    private static readonly Lock Gate = new();
    private static readonly List<Pump> Runs = [];
    private static readonly ITimer Timer = CreateTimer();
    private static bool _ticking;
    private static int _idle;
    private static int _looking;
    private static TimeSpan _cpu;
    private static long _stamp;

    public static void Add(Pump run)
    {
        bool start;
        using (Gate.Hold())
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
        using (Gate.Hold())
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

    // Threads and their stalls are real, so this clock is the system's and not a run's own.
    private static ITimer CreateTimer()
    {
        using (ExecutionContext.SuppressFlow())
        {
            return TimeProvider.System.CreateTimer(static _ => Tick(), null, Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
        }
    }

    private static void Tick()
    {
        Pump[] runs;
        using (Gate.Hold())
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

        if (Interlocked.Exchange(ref _looking, 1) != 0)
        {
            // The last look goes on: what is noted in one must be older than what is noted in the next.
            return;
        }

        try
        {
            bool saturated = IsProcessorSaturated();
            foreach (Pump run in runs)
            {
                run.HelpIfStalled(saturated);
            }
        }
        finally
        {
            Volatile.Write(ref _looking, 0);
        }
    }

    [SuppressMessage("Interoperability", "CA1416:Validate platform compatibility", Justification = "Guarded by the platform checks.")]
    private static bool IsProcessorSaturated()
    {
        if (OperatingSystem.IsIOS() || OperatingSystem.IsTvOS() || OperatingSystem.IsBrowser())
        {
            return false;
        }

        TimeSpan cpu = Environment.CpuUsage.TotalTime;
        long stamp = TimeProvider.System.GetTimestamp();
        TimeSpan wall = TimeProvider.System.GetElapsedTime(_stamp, stamp);
        TimeSpan used = cpu - _cpu;
        _cpu = cpu;
        _stamp = stamp;
        return used > wall * (Environment.ProcessorCount * 0.85);
    }
}
