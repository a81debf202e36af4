using System.Diagnostics;
using Weir.Lab.Latency;

namespace Weir.Lab.Suites;

/// <summary>What it costs to record a latency, beyond reading the clock.</summary>
public class RecordingBenchmarks
{
    private const int Calls = 1_000;
    private readonly LatencyHistogram _histogram = new();

    /// <summary>Reads the clock and takes the difference.</summary>
    /// <returns>The sum of the differences.</returns>
    [Benchmark(Baseline = true, OperationsPerInvoke = Calls)]
    public long ReadClock()
    {
        long sum = 0;
        long last = Stopwatch.GetTimestamp();
        for (int i = 0; i < Calls; i++)
        {
            long now = Stopwatch.GetTimestamp();
            sum += Clock.Nanoseconds(last, now);
            last = now;
        }

        return sum;
    }

    /// <summary>Reads the clock and records the difference.</summary>
    /// <returns>The longest difference.</returns>
    [Benchmark(OperationsPerInvoke = Calls)]
    public long ReadClockAndRecord()
    {
        long last = Stopwatch.GetTimestamp();
        for (int i = 0; i < Calls; i++)
        {
            long now = Stopwatch.GetTimestamp();
            _histogram.Record(Clock.Nanoseconds(last, now));
            last = now;
        }

        return _histogram.Max;
    }
}
