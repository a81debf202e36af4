using BenchmarkDotNet.Attributes;
using Weir.Lab.Benchmarks;

// dotnet run -c Release -- --filter '*'
LabBenchmarks.Run(typeof(Counters).Assembly, args);

/// <summary>Two ways to count, each called by 1, 2 and 4 workers at once.</summary>
[Workers(1, 2, 4)]
public class Counters
{
    private readonly Lock _lock = new();
    private long _count;

    [Benchmark(Baseline = true)]
    public long Locked()
    {
        lock (_lock)
        {
            return ++_count;
        }
    }

    [Benchmark]
    public long Atomic() => Interlocked.Increment(ref _count);
}
