using System.Diagnostics;
using System.Globalization;

namespace Weir.Dataflow.Tests.Stress;

/// <summary>How long stress runs, and from which seed. WEIR_STRESS=seconds and WEIR_SEED=number change it.</summary>
public static class StressSettings
{
    private static readonly double Seconds =
        double.TryParse(Environment.GetEnvironmentVariable("WEIR_STRESS"), CultureInfo.InvariantCulture, out double given) ? given : 1;

    public static int Seed { get; } = int.TryParse(Environment.GetEnvironmentVariable("WEIR_SEED"), CultureInfo.InvariantCulture, out int given)
        ? given
        : (int)(Stopwatch.GetTimestamp() & 0x3fff_ffff);

    /// <summary>Seeds, one a round, until the time is up. One at least: a thread that is held up has no time left when it begins.</summary>
    public static IEnumerable<int> Rounds()
    {
        long begin = Stopwatch.GetTimestamp();
        int round = 0;
        do
        {
            yield return unchecked(Seed + (round * 7919)) & int.MaxValue;
            round++;
        }
        while (Stopwatch.GetElapsedTime(begin).TotalSeconds < Seconds);
    }
}
