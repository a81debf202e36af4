namespace Weir.Lab.Statistics;

/// <summary>The difference of two means whose values may vary differently: Welch's test (B. L. Welch, Biometrika 34, 1947).</summary>
/// <param name="Difference">The mean of the second values minus that of the first.</param>
/// <param name="Half">Half the width of its interval; infinite with fewer than two values on a side.</param>
/// <param name="P">The probability of such a difference between equal means.</param>
internal readonly record struct Welch(double Difference, double Half, double P)
{
    /// <summary>Compares.</summary>
    /// <param name="baseline">The first values. At least one.</param>
    /// <param name="candidate">The second values. At least one.</param>
    /// <param name="level">The level of the interval, between 0 and 1.</param>
    /// <param name="step">By how much the difference may be off whatever the values are. The interval is wider by it on both sides.</param>
    public static Welch Of(IReadOnlyList<double> baseline, IReadOnlyList<double> candidate, double level, double step = 0)
    {
        double difference = candidate.Average() - baseline.Average();
        if (baseline.Count < 2 || candidate.Count < 2)
        {
            return new Welch(difference, double.PositiveInfinity, 1);
        }

        double sure = Math.Max(0, Math.Abs(difference) - step);
        (double x, double y) = (SquaredError(baseline), SquaredError(candidate));
        if (x + y <= 0)
        {
            return new Welch(difference, step, sure == 0 ? 1 : 0);
        }

        double degrees = (x + y) * (x + y) / ((x * x / (baseline.Count - 1)) + (y * y / (candidate.Count - 1)));
        double error = Math.Sqrt(x + y);
        StudentDistribution student = new(degrees);
        return new Welch(difference, (student.Quantile((1 + level) / 2) * error) + step, 2 * student.Cdf(-sure / error));
    }

    private static double SquaredError(IReadOnlyList<double> values)
    {
        double mean = values.Average();
        return values.Sum(v => (v - mean) * (v - mean)) / (values.Count - 1) / values.Count;
    }
}
