namespace Weir.Lab.Statistics;

/// <summary>How much larger than half its interval a difference must be to be found reliably.</summary>
internal static class Power
{
    private const double Found = 0.95;

    /// <summary>What has to be added to half the interval, as a share of it, so that the difference is found in 95 %.</summary>
    /// <param name="degrees">Degrees of freedom, at least 1.</param>
    /// <param name="alpha">The level of the test, on both sides.</param>
    public static double Of(int degrees, double alpha)
    {
        StudentDistribution student = new(degrees);
        return student.Quantile(Found) / student.Quantile(1 - (alpha / 2));
    }
}
