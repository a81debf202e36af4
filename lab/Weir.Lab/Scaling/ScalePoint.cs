namespace Weir.Lab.Scaling;

/// <summary>What some number of workers reached.</summary>
/// <param name="Workers">How many workers. At least 1.</param>
/// <param name="Rates">
/// Operations per second of each process, or of each round where all worker counts share one process. At least one, all more than zero. They must be
/// independent of each other: rounds of one process are not.
/// </param>
internal sealed record ScalePoint(int Workers, IReadOnlyList<double> Rates)
{
    public double Mean => Rates.Average();
}
