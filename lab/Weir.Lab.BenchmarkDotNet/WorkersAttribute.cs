namespace Weir.Lab.Benchmarks;

/// <summary>
/// Runs benchmarks with several numbers of workers at once: a case for each number. Methods without a task get threads of their own, methods with a
/// task become loops that hold no thread while they wait.
/// </summary>
/// <remarks>
/// On a class it is for all its benchmarks; on a method it is for that one, and wins over the class. A class that has it only on methods needs
/// <see cref="LabBenchmarks"/> to be run, or <see cref="LabConfig"/>. Mean, Error and all other figures of BenchmarkDotNet then are
/// those of the throughput: 1 divided by the operations per second of all workers together.
/// </remarks>
[AttributeUsage(AttributeTargets.Class | AttributeTargets.Method)]
public sealed class WorkersAttribute : Attribute, IConfigSource, IWorkerCounts
{
    /// <summary>Creates the attribute.</summary>
    /// <param name="counts">The numbers of workers. At least one, each at least 1.</param>
    public WorkersAttribute(params int[] counts)
    {
        ArgumentNullException.ThrowIfNull(counts);
        Counts = WorkerCounts.Checked(counts);
    }

    /// <summary>The numbers of workers.</summary>
    public IReadOnlyList<int> Counts { get; }

    /// <inheritdoc/>
    public IConfig Config => LabConfig.Instance;
}
