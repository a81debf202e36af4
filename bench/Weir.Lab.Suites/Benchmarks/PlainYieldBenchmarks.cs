namespace Weir.Lab.Suites;

/// <summary>One suspension without workers, to compare <see cref="WorkersYieldBenchmarks"/> with.</summary>
public class PlainYieldBenchmarks
{
    /// <summary>Suspends once.</summary>
    /// <returns>A task that ends after the suspension.</returns>
    [Benchmark]
    public async Task Yield() => await Task.Yield();
}
