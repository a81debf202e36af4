using System.Diagnostics;
using System.Runtime.InteropServices;

namespace Weir.Core.Dispatch;

/// <summary>Measures the items of one worker for the run's pilot: those of a chunk together, so that a tiny item costs nothing. Only for the worker.</summary>
internal sealed class ItemMeter(IRunPilot pilot)
{
    /// <summary>Fewer items than this, taking less time than <see cref="FewTicks"/>, are not worth a report of their own.</summary>
    public const int FewItems = 32;

    /// <summary>See <see cref="FewItems"/>.</summary>
    public static readonly long FewTicks = Stopwatch.Frequency / 50_000;

    private long _began;
    private long _cpu;
    private long _endedBefore;
    private int _unreportedItems;
    private long _unreportedTicks;

    /// <summary>The worker begins with the items of a chunk.</summary>
    /// <param name="ended">How many items of the worker have ended so far.</param>
    public void Begin(long ended)
    {
        _endedBefore = ended;
        _cpu = pilot.WantsCpu ? ThreadClock.Now() : -1;
        _began = Stopwatch.GetTimestamp();
    }

    /// <summary>The worker is done with those items, or with some of them.</summary>
    public void End(long ended)
    {
        int items = (int)(ended - _endedBefore);
        if (items > 0)
        {
            Report(items, Stopwatch.GetTimestamp() - _began, suspended: false);
        }
    }

    /// <summary>An item has suspended, behind those that have ended.</summary>
    public void Suspend(long ended)
    {
        long now = Stopwatch.GetTimestamp();
        Report((int)(ended - _endedBefore) + 1, now - _began, suspended: true);
        _endedBefore = ended + 1;
        _began = now;
    }

    /// <summary>The item that had suspended has ended.</summary>
    public void Resume(bool failed) => pilot.Waited(Stopwatch.GetTimestamp() - _began, failed);

    /// <summary>The item that had suspended was given up. For the thread that did so.</summary>
    public void GiveUp() => pilot.RecordGivenUp();

    // Small chunks of quick items are combined, because all workers report to the same pilot.
    private void Report(int items, long ticks, bool suspended)
    {
        long cpu = _cpu < 0 ? -1 : ThreadClock.Now() - _cpu;
        if (!suspended && cpu < 0)
        {
            items += _unreportedItems;
            ticks += _unreportedTicks;
            if (items < FewItems && ticks < FewTicks)
            {
                (_unreportedItems, _unreportedTicks) = (items, ticks);
                return;
            }
        }
        else if (_unreportedItems > 0)
        {
            pilot.RecordItems(_unreportedItems, _unreportedTicks, -1, suspended: false);
        }

        (_unreportedItems, _unreportedTicks) = (0, 0);
        pilot.RecordItems(items, ticks, cpu, suspended);
    }
}

/// <summary>Gets measurements of a run's items, and moves the run's limit and its executor's threads. Called from several threads.</summary>
internal interface IRunPilot
{
    /// <summary>Whether to measure the processor time of the next items, which costs a system call.</summary>
    bool WantsCpu { get; }

    /// <summary>Items have run one after the other on one thread, until they all ended or the last of them suspended.</summary>
    /// <param name="items">The number of items.</param>
    /// <param name="ticks">Their time, in Stopwatch ticks.</param>
    /// <param name="cpu">Their processor time, or -1 if it was not measured.</param>
    /// <param name="suspended">Whether the last of them suspended.</param>
    void RecordItems(int items, long ticks, long cpu, bool suspended);

    /// <summary>An item that had suspended has ended.</summary>
    /// <param name="ticks">How long it was suspended, in Stopwatch ticks.</param>
    /// <param name="failed">Whether it ended without a result.</param>
    void Waited(long ticks, bool failed);

    /// <summary>An item that had suspended was given up.</summary>
    void RecordGivenUp();

    /// <summary>Called at each look of the stall watch.</summary>
    /// <param name="stuck">How many items have been inside their calls since the last look.</param>
    /// <param name="cores">How many cores the process has kept busy since then; not a number where the system does not say.</param>
    void Tick(int stuck, double cores);
}

/// <summary>The processor time that the current thread has used. The platform itself only provides the figure for the whole process.</summary>
internal static class ThreadClock
{
    // The clock numbers from the systems' headers.
    private const int LinuxThreadTime = 3;
    private const int MacThreadTime = 16;
    private const double NanosecondsPerSecond = 1e9;

    private static readonly int Clock = OperatingSystem.IsLinux() || OperatingSystem.IsAndroid() ? LinuxThreadTime
        : OperatingSystem.IsMacOS() ? MacThreadTime
        : -1;

    private static readonly double TicksPerNanosecond = Stopwatch.Frequency / NanosecondsPerSecond;

    /// <summary>
    /// Whether this system provides the time. Elsewhere, synchronous items count as computing. A search for orders of threads, whose time is not that of the
    /// machine, says that it is not known.
    /// </summary>
    public static bool IsKnown { get; set; } = Clock >= 0;

    /// <summary>The time so far, in Stopwatch ticks.</summary>
    public static long Now() =>
        IsKnown && GetTime(Clock, out TimeSpec time) == 0
            ? (long)(((time.Seconds * NanosecondsPerSecond) + time.Nanoseconds) * TicksPerNanosecond)
            : 0;

    [DllImport("libc", EntryPoint = "clock_gettime", ExactSpelling = true)]
    [DefaultDllImportSearchPaths(DllImportSearchPath.SafeDirectories)]
    private static extern int GetTime(int clock, out TimeSpec time);

    [StructLayout(LayoutKind.Sequential)]
    private struct TimeSpec
    {
        public nint Seconds;
        public nint Nanoseconds;
    }
}
