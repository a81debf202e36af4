using static System.FormattableString;

namespace Weir.Lab.Scaling;

/// <summary>The Universal Scalability Law fitted to measured rates, or the reasons why it cannot be.</summary>
/// <remarks>Unweighted least squares. Three parameters go through almost any few points, so a good R2 alone says nothing: see <see cref="Refusals"/>.</remarks>
internal sealed record UslFit
{
    /// <summary>How many different numbers of workers a fit needs.</summary>
    public const int LeastPoints = 6;

    private const int LeastBelowHalf = 2;
    private const double Reach = 2;
    private const double Level = 0.95;
    private const int Draws = 400;

    /// <summary>The points, by rising number of workers.</summary>
    public required IReadOnlyList<ScalePoint> Points { get; init; }

    /// <summary>The fitted law. It means nothing when there are <see cref="Refusals"/>.</summary>
    public required UslModel Model { get; init; }

    /// <summary>What one worker does per second, with its 95 % interval.</summary>
    public required Estimate Lambda { get; init; }

    /// <summary>The share that only one can do at a time, with its 95 % interval.</summary>
    public required Estimate Sigma { get; init; }

    /// <summary>What each pair of workers costs to agree, with its 95 % interval.</summary>
    public required Estimate Kappa { get; init; }

    /// <summary>The share of the rates' variation that the law explains.</summary>
    public required double RSquared { get; init; }

    /// <summary>The measured rate minus the law's, by point.</summary>
    public required IReadOnlyList<double> Residuals { get; init; }

    /// <summary>Why the fit must not be used; empty when it may.</summary>
    public required IReadOnlyList<string> Refusals { get; init; }

    /// <summary>Whether the fit may be used.</summary>
    public bool IsUsable => Refusals.Count == 0;

    /// <summary>The most workers for which the law may be asked: twice the most that were measured.</summary>
    public double LargestWorkers => Points[^1].Workers * Reach;

    /// <summary>Whether the rate surely falls again, and does so within reach of what was measured.</summary>
    public bool HasPeak => IsUsable && Kappa.Lower > 0 && Model.PeakWorkers <= LargestWorkers;

    /// <summary>The number of workers with the highest rate; <see langword="null"/> without a peak.</summary>
    public double? PeakWorkers => HasPeak ? Model.PeakWorkers : null;

    /// <summary>The highest rate; <see langword="null"/> without a peak.</summary>
    public double? PeakRate => HasPeak ? Model.RateAt(Model.PeakWorkers) : null;

    /// <summary>What the fit says, in one sentence.</summary>
    public string Summary => !IsUsable
        ? $"No fit: {string.Join(" ", Refusals)}"
        : HasPeak
            ? Invariant($"Peak {PeakRate:N0}/s at {PeakWorkers:0.#} workers (sigma {Sigma.Value:0.####}, kappa {Kappa.Value:0.######}, R2 {RSquared:0.000}, ")
                + Invariant($"unweighted).")
            : Invariant($"No peak inside the measured range (sigma {Sigma.Value:0.####}, kappa {Kappa.Value:0.######}, R2 {RSquared:0.000}, unweighted).");

    /// <summary>Fits the law.</summary>
    /// <param name="points">The points. At least one, with different numbers of workers.</param>
    /// <param name="seed">The start of the random numbers that the intervals come from.</param>
    /// <returns>The fit, with the reasons why it must not be used, if any.</returns>
    /// <exception cref="ArgumentException">There is no point, two have the same number of workers, or a rate is not more than zero.</exception>
    public static UslFit Of(IReadOnlyList<ScalePoint> points, int seed = 1)
    {
        ScalePoint[] sorted = [.. points.OrderBy(static p => p.Workers)];
        if (sorted.Length == 0 || sorted.Select(static p => p.Workers).Distinct().Count() != sorted.Length
            || sorted.Any(static p => p.Workers < 1 || p.Rates.Count == 0 || p.Rates.Any(static r => !(r > 0 && double.IsFinite(r)))))
        {
            throw new ArgumentException("There must be at least one point, with different numbers of workers from 1 and rates above zero.", nameof(points));
        }

        double[] workers = [.. sorted.Select(static p => (double)p.Workers)];
        double[] rates = [.. sorted.Select(static p => p.Mean)];
        UslModel model = UslSolver.Fit(workers, rates);
        double mean = rates.Average();
        double total = rates.Sum(r => (r - mean) * (r - mean));
        UslModel[] draws = UslBootstrap.Draw(sorted, workers, rates, model, Draws, seed);
        return new UslFit
        {
            Points = sorted,
            Model = model,
            Lambda = Interval(model.Lambda, draws, static m => m.Lambda),
            Sigma = Interval(model.Sigma, draws, static m => m.Sigma),
            Kappa = Interval(model.Kappa, draws, static m => m.Kappa),
            RSquared = total > 0 ? 1 - (UslSolver.SumOfSquares(model, workers, rates) / total) : 1,
            Residuals = [.. workers.Zip(rates, (n, x) => x - model.RateAt(n))],
            Refusals = FindProblems(model, workers),
        };
    }

    /// <summary>What some number of workers would do per second, by the law.</summary>
    /// <param name="workers">The number of workers, from 1 to <see cref="LargestWorkers"/>.</param>
    /// <returns>The rate.</returns>
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

    private static List<string> FindProblems(UslModel model, double[] workers)
    {
        List<string> refusals = [];
        if (workers.Length < LeastPoints)
        {
            refusals.Add(Invariant($"{workers.Length} different numbers of workers; three parameters need at least {LeastPoints}."));
        }

        if (workers.Count(n => n <= model.PeakWorkers / 2) < LeastBelowHalf)
        {
            refusals.Add(Invariant($"Fewer than {LeastBelowHalf} points lie below half the peak, so the rise was not measured."));
        }

        if (model.Sigma > 0.999)
        {
            refusals.Add("Sigma reaches its bound of 1; the points do not have the shape of the law.");
        }

        return refusals;
    }

    private static Estimate Interval(double value, UslModel[] draws, Func<UslModel, double> pick)
    {
        double[] sorted = [.. draws.Select(pick).Order()];
        double tail = (1 - Level) / 2;
        return new Estimate(value, sorted[(int)(tail * (sorted.Length - 1))], sorted[(int)Math.Ceiling((1 - tail) * (sorted.Length - 1))]);
    }
}
