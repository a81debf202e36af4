namespace Weir.Lab.Workers;

/// <summary>What the workers of a round have done, with the operations before and after the measured window.</summary>
/// <param name="Executed">How many operations were completed by each group, by its name.</param>
/// <param name="Failures">How many operations failed.</param>
public sealed record RoundTotals(IReadOnlyDictionary<string, long> Executed, long Failures)
{
    /// <summary>The number of completed operations.</summary>
    public long AllExecuted => Executed.Values.Sum();
}
