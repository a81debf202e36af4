namespace Weir.Lab.Results;

/// <summary>One percentile of an arm, over all its rounds together, and as each round has it.</summary>
public sealed record PercentileFigures
{
    /// <summary>Which, from 0 to 100.</summary>
    public required double Percentile { get; init; }

    /// <summary>The latency of all rounds together that this share does not exceed, in nanoseconds.</summary>
    public required double Ns { get; init; }

    /// <summary>Whether the clock cannot resolve it, so that it is an upper bound.</summary>
    public required bool AtMost { get; init; }

    /// <summary>How many latencies lie beyond it.</summary>
    public required long Beyond { get; init; }

    /// <summary>The rounds that can tell it themselves.</summary>
    public required int Rounds { get; init; }

    /// <summary>The median of those rounds' own percentile, in nanoseconds; <see langword="null"/> when no round can tell it.</summary>
    public double? MedianNs { get; init; }

    /// <summary>The lower end of that median's interval, in nanoseconds.</summary>
    public double? LowNs { get; init; }

    /// <summary>The upper end of that median's interval, in nanoseconds.</summary>
    public double? HighNs { get; init; }

    /// <summary>How often such an interval holds the true median, from 0 to 1.</summary>
    public double? Level { get; init; }

    /// <summary>The figures; <see langword="null"/> when there are too few latencies for the percentile.</summary>
    internal static PercentileFigures? Of(LatencyHistogram all, IReadOnlyList<LatencyHistogram> rounds, double percentile, double clock)
    {
        if (KnownPercentile.Of(all, percentile, clock) is not { } known)
        {
            return null;
        }

        double[] own = [.. rounds.Select(r => KnownPercentile.Of(r, percentile, clock)).OfType<KnownPercentile>().Select(static k => k.Nanoseconds)];
        MedianInterval? interval = own.Length > 0 ? MedianInterval.Of(own) : null;
        return new PercentileFigures
        {
            Percentile = percentile,
            Ns = known.Nanoseconds,
            AtMost = known.IsBound,
            Beyond = known.Beyond,
            Rounds = own.Length,
            MedianNs = interval?.Median,
            LowNs = interval?.Low,
            HighNs = interval?.High,
            Level = interval?.Level,
        };
    }
}
