namespace Weir.Lab.Suites;

/// <summary>The same suspension without workers, for comparison.</summary>
public class PlainYieldBenchmarks
{
    /// <summary>Suspends once.</summary>
    /// <returns>A task that ends after the suspension.</returns>
    [Benchmark]
    public async Task Yield() => await Task.Yield();
}
