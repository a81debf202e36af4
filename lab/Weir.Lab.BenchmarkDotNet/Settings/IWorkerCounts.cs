namespace Weir.Lab.Benchmarks.Settings;

/// <summary>An attribute that asks for numbers of workers.</summary>
internal interface IWorkerCounts
{
    /// <summary>The numbers of workers.</summary>
    IReadOnlyList<int> Counts { get; }
}
