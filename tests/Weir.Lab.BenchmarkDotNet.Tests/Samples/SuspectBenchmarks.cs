using BenchmarkDotNet.Attributes;

namespace Weir.Lab.Benchmarks.Tests.Samples;

/// <summary>Benchmarks that are wrong in ways that figures do not show.</summary>
[Workers(2)]
public class SuspectBenchmarks
{
    [Benchmark(Baseline = true)]
    public int Hundred() => 100;

    [Benchmark]
    public int NinetyNine() => 99;

    [Benchmark(OperationsPerInvoke = 10)]
    public int TenAtOnce() => 100;

    [Benchmark]
    public void Dropped() => Math.Sqrt(Environment.ProcessorCount);

    // The delay that the lab has to warn of.
#pragma warning disable RS0030
    [Benchmark]
    public async Task ShortDelay() => await Task.Delay(2);
#pragma warning restore RS0030
}
