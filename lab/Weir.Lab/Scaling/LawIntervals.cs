namespace Weir.Lab.Scaling;

/// <summary>The intervals of a law's parameters.</summary>
/// <remarks>
/// Those of the linearised least squares, with Student's t (G. A. F. Seber and C. J. Wild, Nonlinear Regression, 1989, chapter 5). The errors of rates are
/// taken to be shares of the rates, and their size comes from how rates of one worker count differ, or from what the law leaves where that is more. With one
/// rate for each worker count, they are taken to be equal, as unweighted least squares have it.
/// </remarks>
internal static class LawIntervals
{
    private const double Level = 0.95;

    // Of a parameter's own size, for slopes by differences.
    private const double Difference = 1e-5;

    /// <summary>Lambda, sigma and kappa. A parameter that the law does not have is zero.</summary>
    public static Estimate[] Of(LawTest fit, ScalePoint[] points, double[] workers, double[] rates)
    {
        int size = LawTest.Parameters(fit.Law);
        double[] values = [fit.Model.Lambda, fit.Model.Sigma, fit.Model.Kappa];
        Estimate[] estimates = [.. values.Select(static v => new Estimate(v, v, v))];
        int repeats = rates.Length - points.Length;
        int freedom = repeats > 0 ? repeats : rates.Length - size;
        Func<double, double> unit = repeats > 0 ? fit.Model.RateAt : static _ => 1;
        double[][]? variances = freedom > 0 ? Variances(fit.Model, size, workers, unit) : null;
        if (variances is null)
        {
            return [.. estimates.Select(static (e, i) => i == 0 ? e with { Lower = 0, Upper = double.PositiveInfinity } : e with { Lower = 0, Upper = 1 })];
        }

        double left = workers.Zip(rates, (n, x) => Square((x - fit.Model.RateAt(n)) / unit(n))).Sum() / Math.Max(rates.Length - size, 1);
        double pure = repeats > 0 ? points.Sum(static p => p.Rates.Sum(r => Square((r / p.Mean) - 1))) / repeats : 0;
        double t = new StudentDistribution(freedom).Quantile((1 + Level) / 2);
        for (int i = 0; i < size; i++)
        {
            double half = t * Math.Sqrt(Math.Max(left, pure) * variances[i][i]);
            estimates[i] = new Estimate(values[i], Math.Max(0, values[i] - half), i == 1 ? Math.Min(1, values[i] + half) : values[i] + half);
        }

        return estimates;
    }

    // What errors of one unit each come to in the parameters of unweighted least squares.
    private static double[][]? Variances(UslModel model, int size, double[] workers, Func<double, double> unit)
    {
        double[][] slopes = [.. workers.Select(n => Slopes(model, size, n))];
        double[][]? inverse = Inverse(slopes, size);
        if (inverse is null)
        {
            return null;
        }

        double[][] result = [.. Enumerable.Range(0, size).Select(_ => new double[size])];
        for (int o = 0; o < workers.Length; o++)
        {
            double[] effect = [.. inverse.Select(row => row.Zip(slopes[o], static (a, b) => a * b).Sum() * unit(workers[o]))];
            for (int i = 0; i < size; i++)
            {
                result[i][i] += effect[i] * effect[i];
            }
        }

        return result;
    }

    private static double[] Slopes(UslModel model, int size, double n)
    {
        double rate = model.RateAt(n);
        double sigma = Math.Max(model.Sigma, 1e-3) * Difference;
        double kappa = Math.Max(model.Kappa, 1e-6) * Difference;
        double[] all =
        [
            rate / model.Lambda,
            ((model with { Sigma = model.Sigma + sigma }).RateAt(n) - rate) / sigma,
            ((model with { Kappa = model.Kappa + kappa }).RateAt(n) - rate) / kappa,
        ];
        return all[..size];
    }

    // Scaled by the size of each column, because the parameters are of very different sizes.
    private static double[][]? Inverse(double[][] slopes, int size)
    {
        double[] scale = [.. Enumerable.Range(0, size).Select(i => Math.Sqrt(slopes.Sum(s => s[i] * s[i])))];
        double[][] columns = new double[size][];
        for (int unit = 0; unit < size; unit++)
        {
            double[,] matrix = new double[size, size + 1];
            for (int i = 0; i < size; i++)
            {
                for (int j = 0; j < size; j++)
                {
                    matrix[i, j] = slopes.Sum(s => s[i] / scale[i] * (s[j] / scale[j]));
                }
            }

            matrix[unit, size] = 1;
            if (LinearEquations.Solve(matrix) is not { } column || !Array.TrueForAll(column, double.IsFinite))
            {
                return null;
            }

            columns[unit] = [.. column.Select((v, i) => v / scale[i] / scale[unit])];
        }

        return columns;
    }

    private static double Square(double value) => value * value;
}
