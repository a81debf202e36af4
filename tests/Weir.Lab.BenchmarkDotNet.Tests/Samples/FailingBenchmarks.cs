using BenchmarkDotNet.Attributes;

namespace Weir.Lab.Benchmarks.Tests.Samples;

/// <summary>A benchmark that has no result.</summary>
[Workers(2)]
public class FailingBenchmarks
{
    [Benchmark]
    public int Fail() => throw new InvalidOperationException("meant to happen");
}
