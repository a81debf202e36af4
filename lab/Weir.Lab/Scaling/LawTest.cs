namespace Weir.Lab.Scaling;

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
