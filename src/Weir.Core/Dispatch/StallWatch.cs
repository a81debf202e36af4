using System.Diagnostics.CodeAnalysis;
using Weir.Core.Threads;

namespace Weir.Core.Dispatch;

/// <summary>
/// The active runs of the process. The watch looks at them every few milliseconds, because workers that are all stuck inside long synchronous calls cannot ask
/// for help themselves. There is one timer for the process, on the watch's own thread. It is stopped while no run needs a look. Observers find here what is
/// under way.
/// </summary>
internal static class StallWatch
{
    private const int PeriodMilliseconds = 10;

    // The idle periods before the timer is stopped, so that a series of short runs does not start and stop it each time.
    private const int IdlePeriods = 100;

    /// <summary>Guards all of this. Tests hold it so that the watch does not find a run of theirs.</summary>
    internal static readonly Lock RunsLock = new();

    private static readonly List<LiveRun> Runs = [];

    // Threads and their stalls are real, so this clock is the system's, not the run's.
    private static readonly WatchTimer Timer = new(Tick, null);
    private static bool _ticking;
    private static int _idle;
    private static TimeSpan _cpu;
    private static long _stamp;

    /// <summary>Adds a run, unless it has ended already.</summary>
    public static void Add(LiveRun run)
    {
        bool start;
        lock (RunsLock)
        {
            if (run.HasLeft)
            {
                return;
            }

            run.WatchIndex = Runs.Count;
            Runs.Add(run);
            start = run.IsWatched && !_ticking;
            _ticking |= start;
        }

        if (start)
        {
            Timer.Change(TimeSpan.FromMilliseconds(PeriodMilliseconds), TimeSpan.FromMilliseconds(PeriodMilliseconds));
        }
    }

    /// <summary>Removes a run for good.</summary>
    /// <returns>False if that was done before.</returns>
    public static bool Remove(LiveRun run)
    {
        lock (RunsLock)
        {
            return RemoveNeedsLock(run);
        }
    }

    /// <summary>Removes a run for good, unless the observer is to count it.</summary>
    /// <returns>Whether it has left the list, now or before.</returns>
    public static bool RemoveUncounted(LiveRun run, bool wantsEnds)
    {
        lock (RunsLock)
        {
            if (!run.HasLeft && (wantsEnds || run.IsSeen))
            {
                return false;
            }

            RemoveNeedsLock(run);
            return true;
        }
    }

    private static bool RemoveNeedsLock(LiveRun run)
    {
        if (run.HasLeft)
        {
            return false;
        }

        run.HasLeft = true;
        run.IsWatched = false;
        int index = run.WatchIndex;
        if (index >= 0)
        {
            LiveRun last = Runs[^1];
            Runs[index] = last;
            last.WatchIndex = index;
            Runs.RemoveAt(Runs.Count - 1);
            run.WatchIndex = -1;
        }

        return true;
    }

    /// <summary>The runs under way that the observer has not seen, or null if there are none.</summary>
    public static List<LiveRun>? Unseen()
    {
        lock (RunsLock)
        {
            List<LiveRun>? unseen = null;
            foreach (LiveRun run in Runs)
            {
                if (!run.IsSeen && run.Operation is not null)
                {
                    (unseen ??= []).Add(run);
                }
            }

            return unseen;
        }
    }

    /// <summary>Records that the observer shows a run from now on.</summary>
    /// <returns>False if it has ended, or is shown already.</returns>
    public static bool TrySee(LiveRun run)
    {
        lock (RunsLock)
        {
            bool isNew = run is { IsSeen: false, HasLeft: false };
            run.IsSeen |= isNew;
            return isNew;
        }
    }

    private static void Tick(object? state)
    {
        LiveRun[] runs;
        lock (RunsLock)
        {
            runs = WatchedNeedsLock();
            _idle = runs.Length == 0 ? _idle + 1 : 0;
            if (_idle > IdlePeriods)
            {
                _idle = 0;
                _ticking = false;
                Timer.Change(Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
                return;
            }

            if (runs.Length == 0)
            {
                return;
            }
        }

        Look(runs);
    }

    private static void Look(LiveRun[] runs)
    {
        double cores = BusyCores();
        foreach (LiveRun run in runs)
        {
            try
            {
                FaultPoint.Pass("StallWatch.Look", run);
                run.OnWatch(cores);
            }
            catch (Exception e)
            {
                // No user code gets here. If the engine itself fails, the run fails with it, and the others keep their watch.
                Unattended.TryReport(run, e);
            }
        }
    }

    private static LiveRun[] WatchedNeedsLock()
    {
        int count = 0;
        foreach (LiveRun run in Runs)
        {
            count += run.IsWatched ? 1 : 0;
        }

        if (count == 0)
        {
            return [];
        }

        LiveRun[] watched = new LiveRun[count];
        foreach (LiveRun run in Runs)
        {
            // It may have been cleared meanwhile, but is set only before the run is added.
            if (run.IsWatched && count > 0)
            {
                watched[--count] = run;
            }
        }

        return count == 0 ? watched : watched[count..];
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
