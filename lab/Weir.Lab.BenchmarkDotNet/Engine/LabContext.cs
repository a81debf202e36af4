namespace Weir.Lab.Benchmarks;

/// <summary>The lab's interface for a benchmark that runs with workers.</summary>
public static class LabContext
{
    /// <summary>
    /// Counts what is really in flight, for the column <c>In-flight</c>: a benchmark calls it around the call that matters, because the number of workers
    /// does not tell how many of those are under way at once.
    /// </summary>
    public static InFlightMeter InFlight { get; } = new();
}
