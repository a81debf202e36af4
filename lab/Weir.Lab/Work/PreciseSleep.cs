namespace Weir.Lab.Work;

/// <summary>Blocks the thread for less than a timer tick. The system's own call is used, because the platform's sleep counts whole milliseconds.</summary>
internal static partial class PreciseSleep
{
    private const long NanosecondsPerSecond = 1_000_000_000;

    public static bool IsPrecise { get; } = OperatingSystem.IsLinux() || OperatingSystem.IsMacOS();

    public static void For(TimeSpan time)
    {
        if (time <= TimeSpan.Zero)
        {
            return;
        }

        if (!IsPrecise)
        {
            Thread.Sleep(TimeSpan.FromMilliseconds(Math.Ceiling(time.TotalMilliseconds)));
            return;
        }

        long nanoseconds = time.Ticks * TimeSpan.NanosecondsPerTick;
        TimeSpec request = new() { Seconds = (nint)(nanoseconds / NanosecondsPerSecond), Nanoseconds = (nint)(nanoseconds % NanosecondsPerSecond) };

        // A signal may end it early; the caller looks at the clock.
        _ = NanoSleep(in request, 0);
    }

    [LibraryImport("libc", EntryPoint = "nanosleep")]
    [DefaultDllImportSearchPaths(DllImportSearchPath.System32)]
    private static partial int NanoSleep(in TimeSpec request, nint remaining);

    [StructLayout(LayoutKind.Sequential)]
    private struct TimeSpec
    {
        public nint Seconds;
        public nint Nanoseconds;
    }
}
