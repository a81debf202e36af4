using BenchmarkDotNet.Attributes;

namespace Weir.Lab.Benchmarks.Tests.Samples;

/// <summary>Equal work, of which what is returned says nothing: it counts the calls.</summary>
[Workers(2)]
public class SharedStateBenchmarks
{
    private int _first;
    private int _second;

    [Benchmark(Baseline = true)]
    public int Increments() => Interlocked.Increment(ref _first);

    [Benchmark]
    public int Adds() => Interlocked.Add(ref _second, 1);
}
