using System.Diagnostics;
using System.Runtime.InteropServices;

namespace Weir.Core.Threads;

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
