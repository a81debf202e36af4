namespace Weir.Lab.Scaling;

/// <summary>Fits the law again to drawn data, to see how far its parameters may be off.</summary>
internal static class UslBootstrap
{
    // Fewer parameters' worth of points leave no residuals to draw from.
    private const int Parameters = 3;

    // A residual of a large rate may be more than a small rate is, and no rate is below zero.
    private const double LeastShare = 0.01;

    /// <summary>Draws whole rounds where each point has several, and residuals otherwise.</summary>
    public static UslModel[] Draw(ScalePoint[] points, double[] workers, double[] rates, UslModel model, int draws, int seed)
    {
        Random random = new(seed);
        UslModel[] models = new UslModel[draws];
        double[] drawn = new double[rates.Length];
        bool hasRounds = points.All(static p => p.Rates.Count >= 3);
        double[] residuals = Residuals(workers, rates, model);
        for (int i = 0; i < draws; i++)
        {
            for (int p = 0; p < drawn.Length; p++)
            {
                drawn[p] = hasRounds
                    ? MeanOfDrawn(points[p].Rates, random)
                    : Math.Max(model.RateAt(workers[p]) + residuals[random.Next(residuals.Length)], LeastShare * model.RateAt(workers[p]));
            }

            models[i] = UslSolver.Fit(workers, drawn);
        }

        return models;
    }

    // Made larger by what the fit took away from them: it used up as many degrees of freedom as it has parameters.
    private static double[] Residuals(double[] workers, double[] rates, UslModel model)
    {
        double[] residuals = [.. workers.Zip(rates, (n, x) => x - model.RateAt(n))];
        double mean = residuals.Average();
        double scale = residuals.Length > Parameters ? Math.Sqrt((double)residuals.Length / (residuals.Length - Parameters)) : 1;
        return [.. residuals.Select(r => (r - mean) * scale)];
    }

    private static double MeanOfDrawn(IReadOnlyList<double> rates, Random random)
    {
        double sum = 0;
        for (int i = 0; i < rates.Count; i++)
        {
            sum += rates[random.Next(rates.Count)];
        }

        return sum / rates.Count;
    }
}
