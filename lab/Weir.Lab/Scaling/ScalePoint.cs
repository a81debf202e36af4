namespace Weir.Lab.Scaling;

/// <summary>What some number of workers reached.</summary>
/// <param name="Workers">How many workers. At least 1.</param>
/// <param name="Rates">Operations per second of each round. At least one, all more than zero.</param>
internal sealed record ScalePoint(int Workers, IReadOnlyList<double> Rates)
{
    /// <summary>The mean of the rounds.</summary>
    public double Mean => Rates.Average();
}
