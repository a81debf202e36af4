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
