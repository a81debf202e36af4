namespace Weir.Lab.Scaling;

/// <summary>Finds the least squares of the law's three parameters within their bounds.</summary>
/// <remarks>
/// Written as <c>X = N / (a + b (N - 1) + c N (N - 1))</c> the denominator is linear, so the method of Levenberg and Marquardt finds its way from
/// the solution of the linear problem. A bound that would be broken is an equation: every combination of bounds is solved, and the best that keeps to the
/// others is taken. Nothing is weighted, so large rates count more than small ones.
/// </remarks>
internal static class UslSolver
{
    private const int MostSteps = 200;
    private const double Tolerance = 1e-14;

    private enum SigmaBound
    {
        Free,
        Zero,
        One,
    }

    public static UslModel Fit(ReadOnlySpan<double> workers, ReadOnlySpan<double> rates, ScalingLaw law)
    {
        UslModel best = new(rates[0] / workers[0], 0, 0);
        double least = double.PositiveInfinity;
        foreach (SigmaBound bound in law == ScalingLaw.Linear ? [SigmaBound.Zero] : Enum.GetValues<SigmaBound>())
        {
            foreach (bool hasKappa in law == ScalingLaw.Universal ? new[] { true, false } : [false])
            {
                double[][] basis = Basis(workers, bound, hasKappa);
                if (basis[0].Length > workers.Length || Solve(basis, workers, rates) is not double[] p)
                {
                    continue;
                }

                UslModel model = ModelOf(p, bound, hasKappa);
                double sum = SumOfSquares(model, workers, rates);
                if (IsWithinBounds(model) && sum < least)
                {
                    (best, least) = (model, sum);
                }
            }
        }

        return best;
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

    private static bool IsWithinBounds(UslModel model) =>
        model.Lambda > 0 && double.IsFinite(model.Lambda) && model.Sigma is >= 0 and <= 1 && model.Kappa >= 0;

    // Where sigma is 1, b is a, and both together have the factor N.
    private static double[][] Basis(ReadOnlySpan<double> workers, SigmaBound bound, bool hasKappa)
    {
        double[][] basis = new double[workers.Length][];
        for (int i = 0; i < basis.Length; i++)
        {
            double n = workers[i];
            List<double> row = [bound == SigmaBound.One ? n : 1];
            if (bound == SigmaBound.Free)
            {
                row.Add(n - 1);
            }

            if (hasKappa)
            {
                row.Add(n * (n - 1));
            }

            basis[i] = [.. row];
        }

        return basis;
    }

    private static UslModel ModelOf(double[] p, SigmaBound bound, bool hasKappa) => new(
        1 / p[0],
        bound switch { SigmaBound.Free => p[1] / p[0], SigmaBound.One => 1, _ => 0 },
        hasKappa ? p[^1] / p[0] : 0);

    private static double[]? Solve(double[][] basis, ReadOnlySpan<double> workers, ReadOnlySpan<double> rates)
    {
        if (Start(basis, workers, rates) is not double[] p)
        {
            return null;
        }

        double sum = Sum(p, basis, workers, rates);
        double damping = 1e-3;
        for (int step = 0; step < MostSteps && damping < 1e12; step++)
        {
            if (Step(p, basis, workers, rates, damping) is double[] next && Sum(next, basis, workers, rates) is var less && less < sum)
            {
                bool isDone = sum - less <= Tolerance * sum;
                (p, sum) = (next, less);
                damping /= 10;
                if (isDone)
                {
                    break;
                }
            }
            else
            {
                damping *= 10;
            }
        }

        return double.IsFinite(sum) ? p : null;
    }

    // The linear problem N/X = a + b (N - 1) + c N (N - 1), weighted so that errors count as those of X do.
    private static double[]? Start(double[][] basis, ReadOnlySpan<double> workers, ReadOnlySpan<double> rates)
    {
        int size = basis[0].Length;
        double[,] matrix = new double[size, size + 1];
        for (int i = 0; i < basis.Length; i++)
        {
            double weight = Math.Pow(rates[i] * rates[i] / workers[i], 2);
            Accumulate(matrix, basis[i], weight, workers[i] / rates[i]);
        }

        return LinearEquations.Solve(matrix);
    }

    private static double[]? Step(double[] p, double[][] basis, ReadOnlySpan<double> workers, ReadOnlySpan<double> rates, double damping)
    {
        int size = p.Length;
        double[,] matrix = new double[size, size + 1];
        for (int i = 0; i < basis.Length; i++)
        {
            double denominator = Dot(p, basis[i]);
            double slope = -workers[i] / (denominator * denominator);
            double residual = rates[i] - (workers[i] / denominator);
            Accumulate(matrix, basis[i], slope * slope, residual / slope);
        }

        for (int j = 0; j < size; j++)
        {
            matrix[j, j] *= 1 + damping;
        }

        return LinearEquations.Solve(matrix) is double[] change ? [.. p.Zip(change, static (a, b) => a + b)] : null;
    }

    private static void Accumulate(double[,] matrix, double[] row, double weight, double target)
    {
        for (int j = 0; j < row.Length; j++)
        {
            for (int k = 0; k < row.Length; k++)
            {
                matrix[j, k] += weight * row[j] * row[k];
            }

            matrix[j, row.Length] += weight * row[j] * target;
        }
    }

    private static double Sum(double[] p, double[][] basis, ReadOnlySpan<double> workers, ReadOnlySpan<double> rates)
    {
        double sum = 0;
        for (int i = 0; i < basis.Length; i++)
        {
            double denominator = Dot(p, basis[i]);
            if (!(denominator > 0))
            {
                return double.PositiveInfinity;
            }

            double error = rates[i] - (workers[i] / denominator);
            sum += error * error;
        }

        return sum;
    }

    private static double Dot(double[] p, double[] row)
    {
        double sum = 0;
        for (int j = 0; j < p.Length; j++)
        {
            sum += p[j] * row[j];
        }

        return sum;
    }
}
