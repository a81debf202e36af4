using System.Collections.Concurrent;
using BenchmarkDotNet.Attributes;
using Weir.Lab.Benchmarks;

LabBenchmarks.Run(typeof(Counters).Assembly, args);

/// <summary>Three ways to count words that many threads see, each called by 1, 2 and 4 workers at once.</summary>
[Workers(1, 2, 4)]
public class Counters
{
    private readonly Dictionary<string, int> _locked = [];
    private readonly ConcurrentDictionary<string, int> _concurrent = new();
    private int _one;

    [Benchmark(Baseline = true)]
    public int Locked()
    {
        lock (_locked)
        {
            return _locked["word"] = _locked.GetValueOrDefault("word") + 1;
        }
    }

    [Benchmark]
    public int Concurrent() => _concurrent.AddOrUpdate("word", 1, static (_, n) => n + 1);

    [Benchmark]
    public int Atomic() => Interlocked.Increment(ref _one);
}
