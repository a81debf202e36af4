using BenchmarkDotNet.Jobs;

namespace Weir.Lab.Suites;

/// <summary>How often BenchmarkDotNet runs the methods of a class that waits: at least three times, after at least one run that warms up.</summary>
/// <param name="most">How often at the most.</param>
/// <param name="mostWarmUps">How many runs warm up at the most.</param>
[AttributeUsage(AttributeTargets.Class)]
public sealed class IterationsAttribute(int most, int mostWarmUps) : JobMutatorConfigBaseAttribute(
    Job.Default.WithMinIterationCount(3).WithMaxIterationCount(most).WithMinWarmupCount(1).WithMaxWarmupCount(mostWarmUps))
{
    /// <summary>How often at the most.</summary>
    public int Most { get; } = most;

    /// <summary>How many runs warm up at the most.</summary>
    public int MostWarmUps { get; } = mostWarmUps;
}
