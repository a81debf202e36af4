namespace Weir.Lab.Statistics;

/// <summary>Two things compared by the rates of their rounds. The round is the unit: operations of one round are not independent of each other.</summary>
/// <param name="Verdict">What it comes to.</param>
/// <param name="Ratio">How many times as much per second the candidate does, with the interval that is shown.</param>
/// <param name="P">The probability of such a difference by chance, by the rank test.</param>
/// <param name="Baseline">Whether the baseline's rounds have several modes.</param>
/// <param name="Candidate">Whether the candidate's rounds have several modes.</param>
public sealed record Comparison(Verdict Verdict, RatioInterval Ratio, double P, Modality Baseline, Modality Candidate)
{
    /// <summary>Compares rates.</summary>
    /// <param name="baseline">Rates of the baseline's rounds. At least one, all more than zero.</param>
    /// <param name="candidate">Rates of the candidate's rounds. At least one, all more than zero; for pairs as many, in the same order.</param>
    /// <param name="options">How; <see langword="null"/> for the defaults.</param>
    /// <param name="adjust">Corrects the probability for other comparisons of the same run, as <see cref="Holm"/> does; <see langword="null"/> for none.</param>
    /// <returns>The comparison.</returns>
    public static Comparison Of(
        IReadOnlyList<double> baseline, IReadOnlyList<double> candidate, ComparisonOptions? options = null, Func<double, double>? adjust = null)
    {
        options ??= new ComparisonOptions();
        options.Validate();
        RatioInterval Interval(double level) => options.IsPaired
            ? HodgesLehmann.PairedRatio(baseline, candidate, level)
            : HodgesLehmann.Ratio(baseline, candidate, level);

        RatioInterval shown = Interval(options.Level);
        double p = options.IsPaired ? SignedRank.Test(baseline, candidate).P : MannWhitney.Test(baseline, candidate).P;
        p = adjust?.Invoke(p) ?? p;
        Verdict verdict = Decide(shown.Estimate, p, Interval(1 - (2 * options.Alpha)), options);
        return new Comparison(verdict, shown, p, Modality.Of(baseline), Modality.Of(candidate));
    }

    // Two one-sided tests at alpha are the same as asking whether the interval of level 1 - 2 alpha lies within the margin.
    private static Verdict Decide(double ratio, double p, RatioInterval equivalence, ComparisonOptions options)
    {
        double upper = 1 + options.Margin;
        double lower = 1 / upper;
        bool isSignificant = p < options.Alpha;
        return isSignificant && ratio > upper ? Verdict.Faster
            : isSignificant && ratio < lower ? Verdict.Slower
            : equivalence.IsWithin(lower, upper) ? Verdict.Equivalent
            : Verdict.Inconclusive;
    }
}
