using System.Diagnostics;
using System.Globalization;
using System.Runtime.CompilerServices;

namespace Weir.Lab.Suites.Workloads;

/// <summary>Work for a processor, in loop iterations: a clock read inside the work would cost more than a microsecond's share of it.</summary>
internal static class SpinWork
{
    /// <summary>Carries the calibration from BenchmarkDotNet's host to its child processes, so that all arms do the same number of iterations.</summary>
    public const string EnvironmentName = "WEIR_SPINS_PER_MICROSECOND";

    private static readonly Lazy<int> Calibrated = new(Calibrate);

    /// <summary>How many iterations take about a microsecond on this machine, or what the environment says.</summary>
    public static int PerMicrosecond => Calibrated.Value;

    /// <summary>Calibrates once for this process and all its children.</summary>
    public static void Publish() =>
        Environment.SetEnvironmentVariable(EnvironmentName, PerMicrosecond.ToString(CultureInfo.InvariantCulture));

    // Optimized from the first call: an arm that runs first must not pay for the others' compilation.
    [MethodImpl(MethodImplOptions.AggressiveOptimization | MethodImplOptions.NoInlining)]
    public static int Run(int seed, int iterations)
    {
        uint state = (uint)seed | 1;
        for (int i = 0; i < iterations; i++)
        {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
        }

        return (int)(state & int.MaxValue);
    }

    private static int Calibrate()
    {
        if (int.TryParse(Environment.GetEnvironmentVariable(EnvironmentName), NumberStyles.None, CultureInfo.InvariantCulture, out int given) && given > 0)
        {
            return given;
        }

        // The fastest of many short windows is the one that nobody disturbed.
        const int Iterations = 200_000;
        TimeSpan fastest = TimeSpan.MaxValue;
        for (int window = 0; window < 100; window++)
        {
            long start = Stopwatch.GetTimestamp();
            Run(window, Iterations);
            TimeSpan elapsed = Stopwatch.GetElapsedTime(start);
            fastest = elapsed < fastest ? elapsed : fastest;
        }

        return Math.Max(1, (int)(Iterations / fastest.TotalMicroseconds));
    }
}
