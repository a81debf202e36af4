namespace Weir.Lab.Suites.Figures;

/// <summary>All rounds of one arm.</summary>
/// <param name="Name">The benchmark method.</param>
/// <param name="IsBaseline">Whether the others are compared with it.</param>
/// <param name="Samples">One sample for each round that the arm took part in.</param>
internal sealed record ArmResult(string Name, bool IsBaseline, IReadOnlyList<Sample> Samples)
{
    /// <summary>The runs that were given up; <see langword="null"/> when there were none.</summary>
    public StuckRuns? Stuck { get; init; }

    public Spread Nanoseconds { get; } = Spread.OfAny(Samples.Select(static sample => sample.Nanoseconds));

    /// <summary>Bytes of a run: the median, because a stray allocation of the runtime belongs to no arm.</summary>
    public double Bytes { get; } = Spread.OfAny(Samples.Select(static sample => sample.Bytes)).Median;

    /// <summary>Work items of the thread pool in a run: the median.</summary>
    public double Hops { get; } = Spread.OfAny(Samples.Select(static sample => sample.Hops)).Median;

    public double Cores { get; } = Spread.OfAny(Samples.Select(static sample => sample.Cores)).Median;
}
