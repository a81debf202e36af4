namespace Weir.Lab.Workers;

/// <summary>What one window is to be.</summary>
/// <param name="Round">The number of the round, from 1; 0 for the warm-up.</param>
/// <param name="Duration">How long it is measured.</param>
/// <param name="Batches">Of each group, how many operations go between two looks at the clock.</param>
internal sealed record WindowPlan(int Round, TimeSpan Duration, IReadOnlyDictionary<string, int> Batches)
{
    /// <summary>How many operations each worker does, instead of a time.</summary>
    public long? Count { get; init; }

    /// <summary>Whether what happens within the window is written down.</summary>
    public bool HasTimeline { get; init; } = true;
}
