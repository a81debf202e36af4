using BenchmarkDotNet.Configs;
using BenchmarkDotNet.Jobs;

namespace Weir.Lab.Suites;

/// <summary>An addition with the overhead of the call taken off and with it: two jobs side by side.</summary>
[Config(typeof(Overheads))]
public class DeckOverheadBenchmarks
{
    /// <summary>Adds with the processor's own atomic addition.</summary>
    /// <param name="arg">The number.</param>
    /// <returns>The sum.</returns>
    [Benchmark(Description = "Interlocked.Increment(ref int)")]
    [Arguments(10)]
    public int Increment(ref int arg) => Interlocked.Increment(ref arg);

    private sealed class Overheads : ManualConfig
    {
        public Overheads() => AddJob(Job.Default.WithId("NO Overhead"), Job.Default.WithEvaluateOverhead(false).WithId("With Overhead"));
    }
}
