using Weir.Lab.Workers;

namespace Weir.Lab.Benchmarks;

/// <summary>What a benchmark may ask and tell the lab while it runs under workers.</summary>
public static class LabContext
{
    /// <summary>
    /// Counts what is really in flight, for the column <c>In-flight</c>: a benchmark calls it around the call that matters, because the number of workers
    /// does not tell how many of those are under way at once.
    /// </summary>
    public static InFlightMeter InFlight { get; } = new();
}
