using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Weir.Cli.Tests.Profiling;

/// <summary>Code that spends its time in one place.</summary>
public static partial class ProfiledMethods
{
    // Kept, because the compiler leaves out an array that nobody sees.
    private static long[] Last = [];
    private static readonly byte[] Block = new byte[40_000];
    private static int Sum;

    public static int Run() => Hot(7);

    /// <summary>
    /// Loops of four kinds. In some of them the runtime cannot stop a thread wherever it is. It needs some 30 us to stop one, so each takes much longer.
    /// </summary>
    public static int Loops() => Often(static () => Plain(7)) + Often(static () => Calling(7)) + Often(static () => Returning(7)) + Often(Hashing);

    /// <summary>How long each of them takes.</summary>
    public static (string Name, double Seconds)[] TimeByHand()
    {
        (string Name, Func<int> Part)[] parts = [(nameof(Plain), () => Plain(7)), (nameof(Calling), () => Calling(7)), (nameof(Returning), () => Returning(7)),
            (nameof(Hashing), Hashing)];
        double[] best = [.. parts.Select(static _ => double.MaxValue)];
        for (int i = 0; i < 2_000; i++)
        {
            for (int p = 0; p < parts.Length; p++)
            {
                long start = Stopwatch.GetTimestamp();
                Sum += parts[p].Part();
                best[p] = Math.Min(best[p], Stopwatch.GetElapsedTime(start).TotalSeconds);
            }
        }

        return [.. parts.Zip(best, static (p, b) => (p.Name, b))];
    }

    private static int Often(Func<int> part)
    {
        int sum = 0;
        for (int i = 0; i < 10; i++)
        {
            sum += part();
        }

        return sum;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int SleepInTheSystem() => Sleep(2_000) + Hot(7);

    [LibraryImport("libc", EntryPoint = "usleep")]
    private static partial int Sleep(uint microseconds);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Plain(int number)
    {
        for (int i = 0; i < 100_000; i++)
        {
            number = (number * 31) + i;
        }

        return number;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Calling(int number)
    {
        for (int i = 0; i < 50_000; i++)
        {
            number = Step(number, i);
        }

        return number;
    }

    // Short methods without a loop, unrolled, from a method without a loop of its own.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Returning(int number) => number > 1 << 24 ? number
        : Returning(number + Step(number, 1) % 2 + 4_096) + Step(Step(Step(Step(number, 2), 3), 4), 5) + Step(Step(Step(Step(number, 2), 3), 4), 5);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Step(int number, int i) => (number * 31) + i;

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Hashing() => System.Security.Cryptography.SHA256.HashData(Block)[0];

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
