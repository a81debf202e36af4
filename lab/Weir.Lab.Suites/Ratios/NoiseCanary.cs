using System.Diagnostics;
using Weir.Lab.Suites.Workloads;

namespace Weir.Lab.Suites.Ratios;

/// <summary>A piece of work that always takes the same time on an undisturbed machine: its variation is the machine's noise.</summary>
internal static class NoiseCanary
{
    /// <summary>More than this, and somebody else was at work: alone, the machine the goals come from shows 1 to 2 %.</summary>
    public const double Quiet = 0.05;

    /// <summary>The standard deviation of the piece's time as a share of its mean.</summary>
    public static double Variation()
    {
        const int Pieces = 100;
        int iterations = SpinWork.PerMicrosecond * 2_000;
        double[] times = new double[Pieces];
        for (int i = 0; i < Pieces; i++)
        {
            long start = Stopwatch.GetTimestamp();
            SpinWork.Run(i, iterations);
            times[i] = Stopwatch.GetElapsedTime(start).TotalMicroseconds;
        }

        double mean = times.Average();
        return Math.Sqrt(times.Average(time => (time - mean) * (time - mean))) / mean;
    }
}
