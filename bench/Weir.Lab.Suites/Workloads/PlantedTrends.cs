using System.Diagnostics;

namespace Weir.Lab.Suites;

/// <summary>Methods that change while they are measured: for the check that <c>weir run</c> says so. One worker calls them.</summary>
public class PlantedTrends
{
    /// <summary>By how much <see cref="SlowsDown"/> gets slower, a second.</summary>
    public const double SlowerBySecond = 0.01;

    /// <summary>What a call of <see cref="Leaks"/> leaves behind: the array's elements, its length and the object's header.</summary>
    public const int LeakedBytes = 1024;

    private readonly int _spins = SpinSpeed.PerMicrosecond;
    private readonly long _start = Stopwatch.GetTimestamp();
    private readonly List<byte[]> _kept = [];

    /// <summary>Computes for 10 us at first, and from then on for more and more.</summary>
    /// <returns>What it came to.</returns>
    public long SlowsDown() => CalibratedSpin.Run(1, (long)(10 * _spins * Math.Exp(SlowerBySecond * Stopwatch.GetElapsedTime(_start).TotalSeconds)));

    /// <summary>Computes for 0.1 ms, and keeps an array for ever.</summary>
    /// <returns>What it came to.</returns>
    public long Leaks()
    {
        _kept.Add(new byte[LeakedBytes - (3 * sizeof(long))]);
        return CalibratedSpin.Run(1, 100 * _spins);
    }
}
