using BenchmarkDotNet.Attributes;

namespace Weir.Lab.Benchmarks.Tests.Samples;

/// <summary>A benchmark with the settings for which BenchmarkDotNet has attributes only. Any result is precise enough.</summary>
[MinIterationTime(Milliseconds), MinInvokeCount(Invocations), MaxRelativeError(1_000)]
public class KnobBenchmarks
{
    public const int Milliseconds = 20;
    public const int Invocations = 1_024;

    [Benchmark]
    public byte[] Allocate() => new byte[1_000];
}
