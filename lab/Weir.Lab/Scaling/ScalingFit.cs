namespace Weir.Lab.Scaling;

/// <summary>The simplest law of scaling that fits measured rates, or the reasons why there is none.</summary>
/// <remarks>
/// Unweighted least squares. Three parameters go through almost any few points, so a good R2 alone says nothing: see <see cref="Refusals"/>.
/// </remarks>
internal sealed record ScalingFit
{
    /// <summary>How many different numbers of workers a law with one or two parameters needs, if some have several rates.</summary>
    public const int LeastPoints = 4;

    /// <summary>How many three parameters need, and each law with one rate for each number of workers.</summary>
    public const int LeastPointsOfAll = 6;

    private const int LeastBelowHalf = 2;
    private const double Reach = 2;

    // The level of a fall of the rate, on one side.
    private const double FallLevel = 0.995;

    // By how much the rate must fall; more where nothing says how much rates of one worker count differ.
    private const double LeastFall = 0.03;
    private const double LeastFallWithoutRepeats = 0.05;

    /// <summary>The points, by rising number of workers.</summary>
    public required IReadOnlyList<ScalePoint> Points { get; init; }

    /// <summary>The law; if none fits, the one with the most parameters.</summary>
    public required ScalingLaw Law { get; init; }

    /// <summary>The fitted law. It means nothing when there are <see cref="Refusals"/>.</summary>
    public required UslModel Model { get; init; }

    /// <summary>What one worker does per second, with its 95 % interval.</summary>
    public required Estimate Lambda { get; init; }

    /// <summary>The share that only one can do at a time, with its 95 % interval.</summary>
    public required Estimate Sigma { get; init; }

    /// <summary>What each pair of workers costs to agree, with its 95 % interval.</summary>
    public required Estimate Kappa { get; init; }

    /// <summary>The p value of the test for lack of fit; <see langword="null"/> if there is no worker count with two rates.</summary>
    public required double? LackOfFit { get; init; }

    /// <summary>The share of the rates' variation that the law explains.</summary>
    public required double RSquared { get; init; }

    /// <summary>The mean rate minus the law's, by point.</summary>
    public required IReadOnlyList<double> Residuals { get; init; }

    /// <summary>Why the fit must not be used; empty when it may.</summary>
    public required IReadOnlyList<string> Refusals { get; init; }

    /// <summary>Whether the fit may be used.</summary>
    public bool IsUsable => Refusals.Count == 0;

    /// <summary>The most workers for which the law may be asked: twice the most that were measured.</summary>
    public double LargestWorkers => Points[^1].Workers * Reach;

    /// <summary>Whether the rate surely falls again: by the law, and in what was measured.</summary>
    public bool HasPeak => IsUsable && Law == ScalingLaw.Universal && Kappa.Lower > 0 && Model.PeakWorkers < Points[^1].Workers && FallsAtTheEnd();

    /// <summary>The number of workers with the highest rate; <see langword="null"/> without a peak.</summary>
    public double? PeakWorkers => HasPeak ? Model.PeakWorkers : null;

    /// <summary>The highest rate; <see langword="null"/> without a peak.</summary>
    public double? PeakRate => HasPeak ? Model.RateAt(Model.PeakWorkers) : null;

    /// <summary>What the fit says, in a few short sentences.</summary>
    public string Summary => !IsUsable
        ? $"No fit: {string.Join(" ", Refusals)}"
        : $"{Finding} ({Figures()}, R2 {Invariant($"{RSquared:0.000}")}, unweighted). {Tested}";

    private string Finding => Law switch
    {
        ScalingLaw.Linear => Invariant($"Linear: each worker adds {Model.Lambda:N0}/s"),
        ScalingLaw.Amdahl => Invariant($"Amdahl's law: {Model.Sigma:P1} of the work is done by one worker at a time, so the rate has no peak"),
        _ => HasPeak
            ? Invariant($"Universal Scalability Law: peak {PeakRate:N0}/s at {PeakWorkers:0.#} workers")
            : "Universal Scalability Law: no peak inside the measured range",
    };

    private string Tested => LackOfFit is { } p
        ? p < 0.05
            ? Invariant($"The law is within {LawTest.Tolerance:P0} of all means.")
            : Invariant($"No lack of fit (p {p:0.00}).")
        : "Lack of fit is not tested: there is one rate for each worker count.";

    /// <summary>Fits the laws, and chooses the simplest that fits.</summary>
    /// <param name="points">The points. At least one, with different numbers of workers.</param>
    /// <returns>The fit, with the reasons why it must not be used, if any.</returns>
    /// <exception cref="ArgumentException">There is no point, two have the same number of workers, or a rate is not more than zero.</exception>
    public static ScalingFit Of(IReadOnlyList<ScalePoint> points)
    {
        ScalePoint[] sorted = [.. points.OrderBy(static p => p.Workers)];
        if (sorted.Length == 0 || sorted.Select(static p => p.Workers).Distinct().Count() != sorted.Length
            || sorted.Any(static p => p.Workers < 1 || p.Rates.Count == 0 || p.Rates.Any(static r => !(r > 0 && double.IsFinite(r)))))
        {
            throw new ArgumentException("There must be at least one point, with different numbers of workers from 1 and rates above zero.", nameof(points));
        }

        double[] workers = [.. sorted.SelectMany(static p => p.Rates, static (p, _) => (double)p.Workers)];
        double[] rates = [.. sorted.SelectMany(static p => p.Rates)];
        LawTest[] tests = LawTest.All(sorted, workers, rates);
        LawTest fit = Array.Find(tests, static t => t.Fits) is { Fits: true } found ? found : tests[^1];
        double mean = rates.Average();
        double total = rates.Sum(r => (r - mean) * (r - mean));
        Estimate[] estimates = LawIntervals.Of(fit, sorted, workers, rates);
        return new ScalingFit
        {
            Points = sorted,
            Law = fit.Law,
            Model = fit.Model,
            Lambda = estimates[0],
            Sigma = estimates[1],
            Kappa = estimates[2],
            LackOfFit = fit.LackOfFit,
            RSquared = total > 0 ? 1 - (UslSolver.SumOfSquares(fit.Model, workers, rates) / total) : 1,
            Residuals = [.. sorted.Select(p => p.Mean - fit.Model.RateAt(p.Workers))],
            Refusals = FindProblems(fit, sorted),
        };
    }

    /// <summary>What some number of workers would do per second, by the law.</summary>
    /// <param name="workers">The number of workers, from 1 to <see cref="LargestWorkers"/>.</param>
    /// <exception cref="InvalidOperationException">The fit must not be used.</exception>
    /// <exception cref="ArgumentOutOfRangeException"><paramref name="workers"/> is beyond what the measured points allow.</exception>
    public double RateAt(double workers)
    {
        if (!IsUsable)
        {
            throw new InvalidOperationException(Summary);
        }

        ArgumentOutOfRangeException.ThrowIfLessThan(workers, 1);
        ArgumentOutOfRangeException.ThrowIfGreaterThan(workers, LargestWorkers);
        return Model.RateAt(workers);
    }

    private static List<string> FindProblems(LawTest fit, ScalePoint[] points)
    {
        List<string> refusals = [];
        bool hasRepeats = points.Any(static p => p.Rates.Count > 1);
        if (points.Length < (hasRepeats ? LeastPoints : LeastPointsOfAll))
        {
            refusals.Add(Invariant($"{points.Length} different numbers of workers; a law needs at least {LeastPoints}, or {LeastPointsOfAll} ")
                + "with one rate for each.");
        }
        else if (points.Length < LeastPointsOfAll && fit.Law == ScalingLaw.Universal)
        {
            refusals.Add(Invariant($"{points.Length} different numbers of workers; neither the linear law nor Amdahl's fits, and the three parameters of ")
                + Invariant($"the Universal Scalability Law need at least {LeastPointsOfAll}."));
        }

        if (points.Count(p => p.Workers <= fit.Model.PeakWorkers / 2) < LeastBelowHalf)
        {
            refusals.Add(Invariant($"Fewer than {LeastBelowHalf} points lie below half the peak, so the rise was not measured."));
        }

        if (fit.Law == ScalingLaw.Universal && fit.Model.Sigma > 0.999)
        {
            refusals.Add("Sigma reaches its bound of 1; the points do not have the shape of the law.");
        }

        if (!fit.Fits)
        {
            refusals.Add("No law fits, neither the linear one nor Amdahl's nor the Universal Scalability Law: "
                + Invariant($"the means leave the last by up to {fit.Deviation:P0}, more than equal measurements differ ")
                + Invariant($"(p {fit.LackOfFit ?? 0:0.000})."));
        }

        return refusals;
    }

    private string Figures() => Law switch
    {
        ScalingLaw.Linear => "sigma 0",
        ScalingLaw.Amdahl => Invariant($"sigma {Sigma.Value:0.####}"),
        _ => Invariant($"sigma {Sigma.Value:0.####}, kappa {Kappa.Value:0.######}"),
    };

    // A law has its peak wherever the points bend. What counts is that more workers did less.
    private bool FallsAtTheEnd()
    {
        ScalePoint highest = Points.MaxBy(static p => p.Mean)!;
        ScalePoint last = Points[^1];
        int repeats = Points.Sum(static p => p.Rates.Count - 1);
        double fall = Math.Log(highest.Mean / last.Mean);
        double pure = Points.Sum(static p => p.Rates.Sum(r => Math.Pow((r / p.Mean) - 1, 2)));
        double error = repeats > 0 ? Math.Sqrt(pure / repeats * ((1.0 / highest.Rates.Count) + (1.0 / last.Rates.Count))) : 0;
        return fall > (repeats > 0 ? Math.Max(LeastFall, new StudentDistribution(repeats).Quantile(FallLevel) * error) : LeastFallWithoutRepeats);
    }
}

/// <summary>The laws of scaling, from the simplest. Each is the next one with a parameter that is zero.</summary>
internal enum ScalingLaw
{
    /// <summary>Each worker adds the same: <c>X(N) = lambda N</c>.</summary>
    Linear,

    /// <summary>A share of the work is done by one at a time: <c>X(N) = lambda N / (1 + sigma (N - 1))</c> (G. M. Amdahl, AFIPS 1967).</summary>
    Amdahl,

    /// <summary>Each pair of workers costs something as well: the Universal Scalability Law, see <see cref="UslModel"/>.</summary>
    Universal,
}

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

/// <summary>A fitted value with its interval.</summary>
internal readonly record struct Estimate(double Value, double Lower, double Upper);

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

/// <summary>A law fitted to all rates, and how far it is from them.</summary>
/// <param name="Law">The law.</param>
/// <param name="Model">Its parameters.</param>
/// <param name="LackOfFit">
/// The p value of the test for lack of fit: how probable such distances are if the law holds. <see langword="null"/> if no worker count has two rates.
/// </param>
/// <param name="Deviation">The largest distance of a worker count's mean from the law, as a share of the law's rate.</param>
/// <param name="Fits">Whether it describes the rates.</param>
/// <remarks>
/// The test compares the distances of the means from the law with the pure error, which is how much rates of one worker count differ (N. R. Draper and
/// H. Smith, Applied Regression Analysis, 1998, chapter 2). A law also fails if the next one is clearly better (the extra sum of squares, chapter 6). A law
/// that is nowhere further than <see cref="Tolerance"/> from the means fits in any case: with enough rates, every law is rejected.
/// </remarks>
internal readonly record struct LawTest(ScalingLaw Law, UslModel Model, double? LackOfFit, double Deviation, bool Fits)
{
    /// <summary>What does not matter, whatever the tests say.</summary>
    public const double Tolerance = 0.03;

    private const double FitLevel = 0.05;
    private const double ExtraLevel = 0.01;

    // With one rate for each worker count, what the largest law leaves is the only measure of the error, and it has little power.
    private const double LevelWithoutRepeats = 0.05;
    private const double ToleranceWithoutRepeats = 0.10;

    /// <summary>The number of parameters of a law.</summary>
    public static int Parameters(ScalingLaw law) => (int)law + 1;

    /// <summary>Fits and tests all laws, from the simplest.</summary>
    public static LawTest[] All(ScalePoint[] points, double[] workers, double[] rates)
    {
        ScalingLaw[] laws = Enum.GetValues<ScalingLaw>();
        UslModel[] models = [.. laws.Select(law => UslSolver.Fit(workers, rates, law))];
        double[] squares = [.. models.Select(m => UslSolver.SumOfSquares(m, workers, rates))];
        double pure = points.Sum(static p => p.Rates.Sum(r => (r - p.Mean) * (r - p.Mean)));
        int repeats = rates.Length - points.Length;
        LawTest[] tests = new LawTest[laws.Length];
        for (int i = 0; i < tests.Length; i++)
        {
            int rest = points.Length - Parameters(laws[i]);
            double? lack = repeats > 0 && rest > 0 ? Exceeds(squares[i] - pure, rest, pure, repeats) : null;
            double deviation = points.Max(p => Math.Abs((p.Mean / models[i].RateAt(p.Workers)) - 1));
            bool rejected = lack < FitLevel || HasBetter(i) || (repeats == 0 && i < tests.Length - 1 && deviation > ToleranceWithoutRepeats);
            tests[i] = new LawTest(laws[i], models[i], lack, deviation, deviation <= Tolerance || !rejected);
        }

        return tests;

        bool HasBetter(int simple)
        {
            (double error, int freedom) = repeats > 0 ? (pure, repeats) : (squares[^1], points.Length - Parameters(laws[^1]));
            return freedom > 0 && Enumerable.Range(simple + 1, laws.Length - simple - 1)
                .Any(better => Exceeds(squares[simple] - squares[better], better - simple, error, freedom) < (repeats > 0 ? ExtraLevel : LevelWithoutRepeats));
        }
    }

    // The probability that the ratio of two variances is at least this one, by the distribution of F.
    private static double Exceeds(double part, int partFreedom, double error, int errorFreedom)
    {
        if (!(part > 0))
        {
            return 1;
        }

        double f = part / partFreedom / Math.Max(error / errorFreedom, double.Epsilon);
        double share = partFreedom * f / ((partFreedom * f) + errorFreedom);
        return double.IsFinite(share) ? 1 - new BetaDistribution(partFreedom / 2.0, errorFreedom / 2.0).Cdf(share) : 0;
    }
}

/// <summary>Solves a few linear equations by elimination.</summary>
internal static class LinearEquations
{
    /// <summary>Solves them in place.</summary>
    /// <param name="matrix">A row for each equation: its factors, and then its right side.</param>
    /// <returns>The solution; <see langword="null"/> when there is not exactly one.</returns>
    public static double[]? Solve(double[,] matrix)
    {
        int size = matrix.GetLength(0);
        for (int column = 0; column < size; column++)
        {
            int pivot = column;
            for (int row = column + 1; row < size; row++)
            {
                pivot = Math.Abs(matrix[row, column]) > Math.Abs(matrix[pivot, column]) ? row : pivot;
            }

            if (!(Math.Abs(matrix[pivot, column]) > 0) || !double.IsFinite(matrix[pivot, column]))
            {
                return null;
            }

            for (int k = column; k <= size; k++)
            {
                (matrix[column, k], matrix[pivot, k]) = (matrix[pivot, k], matrix[column, k]);
            }

            for (int row = column + 1; row < size; row++)
            {
                double factor = matrix[row, column] / matrix[column, column];
                for (int k = column; k <= size; k++)
                {
                    matrix[row, k] -= factor * matrix[column, k];
                }
            }
        }

        double[] solution = new double[size];
        for (int row = size - 1; row >= 0; row--)
        {
            double rest = matrix[row, size];
            for (int k = row + 1; k < size; k++)
            {
                rest -= matrix[row, k] * solution[k];
            }

            solution[row] = rest / matrix[row, row];
        }

        return solution;
    }
}
