namespace Weir.Lab.Statistics;

/// <summary>How many times as large one thing is as another, with the interval in which the true ratio lies.</summary>
/// <param name="Estimate">The ratio.</param>
/// <param name="Lower">The lower end; 0 when there are too few values to say.</param>
/// <param name="Upper">The upper end; infinite when there are too few values to say.</param>
/// <param name="Level">The share of such intervals that hold the true ratio, such as 0.95.</param>
internal sealed record RatioInterval(double Estimate, double Lower, double Upper, double Level)
{
    /// <summary>Whether the whole interval lies within some factors.</summary>
    public bool IsWithin(double lower, double upper) => Lower >= lower && Upper <= upper;
}
