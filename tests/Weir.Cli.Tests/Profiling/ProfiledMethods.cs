using System.Runtime.CompilerServices;

namespace Weir.Cli.Tests.Profiling;

/// <summary>Code that spends its time in one place.</summary>
public static class ProfiledMethods
{
    public static int Run() => Hot(7);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Hot(int number)
    {
        for (int i = 0; i < 20_000; i++)
        {
            number = (number * 31) + i;
        }

        return number + new long[500].Length;
    }
}
