using Weir.Lab.Benchmarks;

namespace Weir.Lab.Suites;

/// <summary>One suspension, by BenchmarkDotNet alone and under workers: alone, a thread blocks for each call.</summary>
[Workers(1, 8)]
public class WorkersYieldBenchmarks
{
    /// <summary>Suspends once.</summary>
    /// <returns>A task that ends after the suspension.</returns>
    [Benchmark]
    public async Task Yield() => await Task.Yield();
}
