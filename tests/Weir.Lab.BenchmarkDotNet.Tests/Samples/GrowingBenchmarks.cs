using BenchmarkDotNet.Attributes;

namespace Weir.Lab.Benchmarks.Tests.Samples;

/// <summary>The trap: a benchmark with a side effect. Its list has one more item after each call, so no two calls do the same.</summary>
public class GrowingBenchmarks
{
    private readonly List<int> _items = [];

    /// <summary>How many items the list of the last run had in the end.</summary>
    public static int LastCount { get; private set; }

    [Benchmark]
    public int Grow()
    {
        _items.Add(_items.Count);
        return _items.Count;
    }

    [GlobalCleanup]
    public void Report() => LastCount = _items.Count;
}
