namespace Weir.Lab.Latency;

/// <summary>The percentiles of a histogram, ever closer to each other towards the tail, and the text format that plotters of HdrHistogram read.</summary>
internal static class PercentileSpectrum
{
    private const int DefaultSteps = 5;

    /// <summary>The lines of the spectrum.</summary>
    /// <param name="histogram">The histogram.</param>
    /// <param name="stepsPerHalving">How many lines there are from each percentile to the one that halves its distance to 100. At least 1.</param>
    /// <returns>The lines, rising; the last one is the maximum at 100. None when nothing was recorded.</returns>
    public static IReadOnlyList<PercentileLine> Of(LatencyHistogram histogram, int stepsPerHalving = DefaultSteps)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(stepsPerHalving, 1);
        List<PercentileLine> lines = [];
        long total = histogram.Count;
        if (total == 0)
        {
            return lines;
        }

        double level = 0;
        long seen = 0;
        ReadOnlySpan<long> counts = histogram.Counts;
        for (int i = 0; i < counts.Length && seen < total; i++)
        {
            if (counts[i] == 0)
            {
                continue;
            }

            seen += counts[i];
            double here = 100.0 * seen / total;
            long value = Math.Clamp(HistogramLayout.MiddleOf(i), histogram.Min, histogram.Max);
            while (level <= here && level < 100 && seen < total)
            {
                lines.Add(new PercentileLine(value, level, seen));
                double halvings = Math.Floor(Math.Log2(100 / (100 - level))) + 1;
                level += 100 / (stepsPerHalving * Math.Pow(2, halvings));
            }
        }

        lines.Add(new PercentileLine(histogram.Max, 100, total));
        return lines;
    }

    /// <summary>Writes the spectrum as a <c>.hgrm</c> file, with values in milliseconds.</summary>
    public static void Write(LatencyHistogram histogram, TextWriter writer)
    {
        CultureInfo culture = CultureInfo.InvariantCulture;
        writer.Write("       Value     Percentile TotalCount 1/(1-Percentile)\n\n");
        foreach (PercentileLine line in Of(histogram))
        {
            string start = string.Create(culture, $"{line.Nanoseconds / 1e6,12:F6} {line.Percentile / 100,14:F12} {line.Count,10}");
            writer.Write(line.Percentile >= 100 ? $"{start}\n" : string.Create(culture, $"{start} {line.Inverse,14:F2}\n"));
        }

        double mean = histogram.Mean;
        writer.Write(string.Create(culture, $"#[Mean    = {mean / 1e6,12:F6}, StdDeviation   = {Deviation(histogram, mean) / 1e6,12:F6}]\n"));
        writer.Write(string.Create(culture, $"#[Max     = {histogram.Max / 1e6,12:F6}, Total count    = {histogram.Count,12}]\n"));
        writer.Write(string.Create(culture, $"#[Buckets = {32,12}, SubBuckets     = {512,12}]\n"));
    }

    private static double Deviation(LatencyHistogram histogram, double mean)
    {
        double sum = 0;
        long count = 0;
        ReadOnlySpan<long> counts = histogram.Counts;
        for (int i = 0; i < counts.Length; i++)
        {
            double away = HistogramLayout.MiddleOf(i) - mean;
            sum += counts[i] * away * away;
            count += counts[i];
        }

        return count > 0 ? Math.Sqrt(sum / count) : 0;
    }
}

/// <summary>One line of a percentile spectrum.</summary>
/// <param name="Nanoseconds">The latency that this share of all latencies does not exceed.</param>
/// <param name="Percentile">The share, from 0 to 100.</param>
/// <param name="Count">How many latencies lie at or below it.</param>
internal readonly record struct PercentileLine(long Nanoseconds, double Percentile, long Count)
{
    /// <summary>The inverse of the share that lies above; infinite on the last line. On a logarithmic axis it spreads the tail.</summary>
    public double Inverse => Percentile >= 100 ? double.PositiveInfinity : 100 / (100 - Percentile);
}
