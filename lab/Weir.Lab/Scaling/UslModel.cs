namespace Weir.Lab.Scaling;

/// <summary>The Universal Scalability Law: <c>X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1))</c>.</summary>
/// <remarks>
/// N. J. Gunther, Guerrilla Capacity Planning (2007), in the form with three parameters, so that nothing hangs on a noisy X(1).
/// </remarks>
/// <param name="Lambda">What one worker does per second.</param>
/// <param name="Sigma">The share that only one can do at a time, from 0 to 1.</param>
/// <param name="Kappa">What each pair of workers costs to agree, from 0.</param>
internal readonly record struct UslModel(double Lambda, double Sigma, double Kappa)
{
    /// <summary>The number of workers with the highest rate; infinite when more are always better.</summary>
    public double PeakWorkers => Kappa > 0 ? Math.Sqrt((1 - Sigma) / Kappa) : double.PositiveInfinity;

    /// <summary>What some number of workers does per second.</summary>
    public double RateAt(double workers) => Lambda * Share(workers);

    internal double Share(double n) => n / (1 + (Sigma * (n - 1)) + (Kappa * n * (n - 1)));
}
