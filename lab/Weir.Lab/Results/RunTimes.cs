namespace Weir.Lab.Results;

/// <summary>How long the runs of a program took, in seconds.</summary>
/// <param name="MeanSeconds">The mean.</param>
/// <param name="DeviationSeconds">The standard deviation of single runs; 0 of one run.</param>
/// <param name="MedianSeconds">The median.</param>
/// <param name="MinSeconds">The shortest.</param>
/// <param name="MaxSeconds">The longest.</param>
public sealed record RunTimes(double MeanSeconds, double DeviationSeconds, double MedianSeconds, double MinSeconds, double MaxSeconds)
{
    /// <summary>Those of an arm; <see langword="null"/> if it is not a program, or was not measured.</summary>
    internal static RunTimes? Of(ArmRecord arm)
    {
        if (!arm.IsProgram || !arm.IsMeasured)
        {
            return null;
        }

        double[] seconds = [.. arm.Counted.Select(static r => 1 / r.Rate)];
        double mean = seconds.Average();
        double squares = seconds.Sum(s => (s - mean) * (s - mean));
        return new RunTimes(
            mean, seconds.Length > 1 ? Math.Sqrt(squares / (seconds.Length - 1)) : 0, 1 / arm.Rate().Median, seconds.Min(), seconds.Max());
    }
}
