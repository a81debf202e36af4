using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Weir.Cli.Tests.Profiling;

/// <summary>Code that spends its time in one place.</summary>
public static partial class ProfiledMethods
{
    // Kept, because the compiler leaves out an array that nobody sees.
    private static long[] Last = [];

    public static int Run() => Hot(7);

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int SleepInTheSystem() => Sleep(2_000) + Hot(7);

    [LibraryImport("libc", EntryPoint = "usleep")]
    private static partial int Sleep(uint microseconds);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Hot(int number)
    {
        for (int i = 0; i < 20_000; i++)
        {
            number = (number * 31) + i;
        }

        Last = new long[500];
        return number + Last.Length;
    }
}
