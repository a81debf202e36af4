namespace Weir.Lab.Results;

/// <summary>The simplest law of scaling that fits the arms of one name: linear, Amdahl's, or the Universal Scalability Law.</summary>
public sealed record FitRecord
{
    /// <summary>The name of the arms.</summary>
    public required string Name { get; init; }

    /// <summary>
    /// The law: <c>linear</c>, <c>amdahl</c> or <c>usl</c>; <see langword="null"/> if none fits. Each is the next one with a parameter that is zero.
    /// </summary>
    public string? Law { get; init; }

    /// <summary>
    /// The p value of the test for lack of fit, from 0 to 1; <see langword="null"/> if no worker count has two processes, or two rounds in this process.
    /// </summary>
    public double? LackOfFit { get; init; }

    /// <summary>The rate of one worker.</summary>
    public required Interval Lambda { get; init; }

    /// <summary>Contention: the share of the work that is done one at a time.</summary>
    public required Interval Sigma { get; init; }

    /// <summary>Coherency: the cost of each pair of workers.</summary>
    public required Interval Kappa { get; init; }

    /// <summary>The number of workers with the highest rate; <see langword="null"/> if the data shows no peak.</summary>
    public double? PeakWorkers { get; init; }

    /// <summary>The highest rate; <see langword="null"/> if the data shows no peak.</summary>
    public double? PeakRate { get; init; }

    /// <summary>The share of the variation that the fit explains.</summary>
    public double RSquared { get; init; }

    /// <summary>Why the fit must not be used; <see langword="null"/> if it may be used.</summary>
    public string? Refused { get; init; }

    /// <summary>The rate that the law gives for a number of workers.</summary>
    public double RateAt(double workers) =>
        Lambda.Value * workers / (1 + (Sigma.Value * (workers - 1)) + (Kappa.Value * workers * (workers - 1)));
}
