namespace Weir.Lab.Latency;

/// <summary>The usual figures of a histogram, and the histogram. All times are nanoseconds.</summary>
public sealed class LatencySummary
{
    /// <summary>Creates the figures.</summary>
    /// <param name="histogram">The histogram. It must not change any more.</param>
    [JsonConstructor]
    public LatencySummary(LatencyHistogram histogram)
    {
        ArgumentNullException.ThrowIfNull(histogram);
        Histogram = histogram;
        Count = histogram.Count;
        Mean = histogram.Mean;
        Min = histogram.Min;
        P50 = histogram.ValueAtPercentile(50);
        P90 = histogram.ValueAtPercentile(90);
        P99 = histogram.ValueAtPercentile(99);
        P999 = histogram.ValueAtPercentile(99.9);
        Max = histogram.Max;
    }

    /// <summary>How many latencies.</summary>
    public long Count { get; }

    /// <summary>The mean.</summary>
    public double Mean { get; }

    /// <summary>The shortest.</summary>
    public long Min { get; }

    /// <summary>The median.</summary>
    public long P50 { get; }

    /// <summary>What 90 % do not exceed.</summary>
    public long P90 { get; }

    /// <summary>What 99 % do not exceed.</summary>
    public long P99 { get; }

    /// <summary>What 99.9 % do not exceed.</summary>
    public long P999 { get; }

    /// <summary>The longest.</summary>
    public long Max { get; }

    /// <summary>All latencies.</summary>
    public LatencyHistogram Histogram { get; }

    /// <summary>The figures of several histograms together.</summary>
    /// <param name="parts">The figures of the parts; those that are missing count nothing.</param>
    /// <returns>The figures of the sum; <see langword="null"/> when there is no part.</returns>
    public static LatencySummary? Merge(IEnumerable<LatencySummary?> parts)
    {
        ArgumentNullException.ThrowIfNull(parts);
        LatencyHistogram? sum = null;
        foreach (LatencySummary? part in parts)
        {
            if (part is not null)
            {
                (sum ??= new LatencyHistogram()).Merge(part.Histogram);
            }
        }

        return sum is null ? null : new LatencySummary(sum);
    }
}
