namespace Weir.Lab.Workers;

/// <summary>What the workers of a group did in a window.</summary>
/// <param name="Name">The name of the group.</param>
/// <param name="Workers">How many workers it has.</param>
/// <param name="Operations">How many operations they began in the window and completed.</param>
/// <param name="Rate">Operations per second: the sum of the workers' rates.</param>
/// <param name="SampleEvery">Of how many operations one was timed: 1 for all.</param>
/// <param name="Fairness">How evenly the operations are spread over the workers.</param>
internal sealed record GroupResult(string Name, int Workers, long Operations, double Rate, int SampleEvery, Fairness Fairness)
{
    /// <summary>How long an operation takes in the shortest batch of them, in nanoseconds; 0 when none ended in the window.</summary>
    public double Quickest { get; init; }
}
