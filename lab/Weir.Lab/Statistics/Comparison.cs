namespace Weir.Lab.Statistics;

/// <summary>Two things compared by the rates of their rounds. The round is the unit: operations of one round are not independent of each other.</summary>
/// <param name="Verdict">What it comes to.</param>
/// <param name="Ratio">How many times as much per second the candidate does, with the interval that is shown.</param>
/// <param name="P">The probability of such a difference by chance, by the rank test.</param>
/// <param name="Baseline">Whether the baseline's rounds have several modes.</param>
/// <param name="Candidate">Whether the candidate's rounds have several modes.</param>
internal sealed record Comparison(Verdict Verdict, RatioInterval Ratio, double P, Modality Baseline, Modality Candidate)
{
    /// <summary>Compares rates.</summary>
    /// <param name="baseline">Rates of the baseline's rounds. At least one, all more than zero.</param>
    /// <param name="candidate">Rates of the candidate's rounds. At least one, all more than zero; for pairs as many, in the same order.</param>
    /// <param name="options">How; <see langword="null"/> for the defaults.</param>
    /// <param name="adjust">
    /// Corrects the probability for other comparisons of the same run, as <see cref="Holm"/> does; <see langword="null"/> for none.
    /// </param>
    public static Comparison Of(
        IReadOnlyList<double> baseline, IReadOnlyList<double> candidate, ComparisonOptions? options = null, Func<double, double>? adjust = null)
    {
        options ??= new ComparisonOptions();
        options.Validate();
        RatioInterval interval = options.IsPaired
            ? HodgesLehmann.PairedRatio(baseline, candidate, options.Level)
            : HodgesLehmann.Ratio(baseline, candidate, options.Level);
        double p = options.IsPaired ? SignedRank.Test(baseline, candidate).P : MannWhitney.Test(baseline, candidate).P;
        p = adjust?.Invoke(p) ?? p;
        return new Comparison(Decide(interval, p, options), interval, p, Modality.Of(baseline), Modality.Of(candidate));
    }

    /// <summary>The verdict of an interval and the test that belongs to it. They are of one level, so they never contradict each other.</summary>
    internal static Verdict Decide(RatioInterval interval, double p, ComparisonOptions options)
    {
        double upper = 1 + options.Margin;
        double lower = 1 / upper;
        bool isSignificant = p < options.Alpha;
        return isSignificant && interval.Estimate > upper ? Verdict.Faster
            : isSignificant && interval.Estimate < lower ? Verdict.Slower
            : interval.IsWithin(lower, upper) ? Verdict.Equivalent
            : Verdict.Inconclusive;
    }
}
