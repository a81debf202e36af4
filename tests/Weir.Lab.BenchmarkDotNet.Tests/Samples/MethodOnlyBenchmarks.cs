using BenchmarkDotNet.Attributes;

namespace Weir.Lab.Benchmarks.Tests.Samples;

/// <summary>A class with workers on one of its methods only.</summary>
public class MethodOnlyBenchmarks
{
    [Benchmark]
    [Workers(2)]
    public int WithWorkers() => 1;

    [Benchmark]
    public int Without() => 1;
}
