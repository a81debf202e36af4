using System.Diagnostics;
using System.Runtime.InteropServices;

namespace Weir.Runtimes;

/// <summary>How much processor time the current thread has used. The platform's own figure is that of the whole process only.</summary>
internal static class ThreadClock
{
    // The clocks' numbers of the systems' own headers.
    private const int LinuxThreadTime = 3;
    private const int MacThreadTime = 16;
    private const double NanosecondsPerSecond = 1e9;

    private static readonly int Clock = OperatingSystem.IsLinux() || OperatingSystem.IsAndroid() ? LinuxThreadTime
        : OperatingSystem.IsMacOS() ? MacThreadTime
        : -1;

    private static readonly double TicksPerNanosecond = Stopwatch.Frequency / NanosecondsPerSecond;

    /// <summary>Whether this system tells. Elsewhere synchronous items count as computing.</summary>
    public static bool IsKnown => Clock >= 0;

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
