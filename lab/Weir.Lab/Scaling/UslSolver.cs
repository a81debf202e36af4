namespace Weir.Lab.Scaling;

/// <summary>Finds the least squares of the law's three parameters within their bounds.</summary>
/// <remarks>
/// For given sigma and kappa the best lambda is known, so two parameters are searched: first coarsely, because the sum of squares may have several
/// valleys, then ever finer around the best. Nothing is weighted, so large rates count more than small ones.
/// </remarks>
internal static class UslSolver
{
    private const int SigmaSteps = 40;
    private const int KappaSteps = 48;
    private const int Refinements = 90;
    private const double LeastKappa = 1e-9;
    private const double MostKappa = 2;

    public static UslModel Fit(ReadOnlySpan<double> workers, ReadOnlySpan<double> rates)
    {
        Search search = new() { Best = double.PositiveInfinity };
        for (int s = 0; s <= SigmaSteps; s++)
        {
            for (int k = 0; k <= KappaSteps; k++)
            {
                double kappa = k == 0 ? 0 : LeastKappa * Math.Pow(MostKappa / LeastKappa, (double)(k - 1) / (KappaSteps - 1));
                Try(workers, rates, (double)s / SigmaSteps, kappa, ref search);
            }
        }

        double sigmaStep = 1.0 / SigmaSteps;
        double kappaStep = Math.Max(search.Model.Kappa, LeastKappa);
        for (int i = 0; i < Refinements; i++)
        {
            UslModel center = search.Model;
            for (int s = -2; s <= 2; s++)
            {
                for (int k = -2; k <= 2; k++)
                {
                    Try(workers, rates, Math.Clamp(center.Sigma + (s * sigmaStep), 0, 1), Math.Clamp(center.Kappa + (k * kappaStep), 0, MostKappa), ref search);
                }
            }

            // Only when it did not move: in a long valley the best may still be far.
            if (search.Model == center)
            {
                sigmaStep *= 0.5;
                kappaStep *= 0.5;
            }
        }

        return search.Model;
    }

    public static double SumOfSquares(UslModel model, ReadOnlySpan<double> workers, ReadOnlySpan<double> rates)
    {
        double sum = 0;
        for (int i = 0; i < workers.Length; i++)
        {
            double error = rates[i] - model.RateAt(workers[i]);
            sum += error * error;
        }

        return sum;
    }

    private static void Try(ReadOnlySpan<double> workers, ReadOnlySpan<double> rates, double sigma, double kappa, ref Search search)
    {
        UslModel shape = new(1, sigma, kappa);
        double top = 0;
        double bottom = 0;
        for (int i = 0; i < workers.Length; i++)
        {
            double share = shape.Share(workers[i]);
            top += share * rates[i];
            bottom += share * share;
        }

        UslModel model = shape with { Lambda = top / bottom };
        double sum = SumOfSquares(model, workers, rates);
        if (sum < search.Best)
        {
            search = new Search { Best = sum, Model = model };
        }
    }

    private struct Search
    {
        public double Best;
        public UslModel Model;
    }
}
