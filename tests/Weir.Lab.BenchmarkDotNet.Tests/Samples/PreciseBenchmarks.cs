using BenchmarkDotNet.Attributes;

namespace Weir.Lab.Benchmarks.Tests.Samples;

/// <summary>A benchmark whose result is never precise enough, whatever the share of its mean is allowed to be.</summary>
[MaxRelativeError(1_000), MaxAbsoluteError(1e-9)]
public class PreciseBenchmarks
{
    [Benchmark]
    public byte[] Allocate() => new byte[1_000];
}
