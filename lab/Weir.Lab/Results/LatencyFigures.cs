namespace Weir.Lab.Results;

/// <summary>The latencies of all rounds of an arm together, never averaged. All times are nanoseconds.</summary>
public sealed record LatencyFigures
{
    /// <summary>From when on: <c>start</c>, or <c>intended_start</c>.</summary>
    public required string From { get; init; }

    /// <summary>How many there are.</summary>
    public required long Count { get; init; }

    /// <summary>The mean.</summary>
    public required double MeanNs { get; init; }

    /// <summary>The shortest.</summary>
    public required long MinNs { get; init; }

    /// <summary>The longest.</summary>
    public required long MaxNs { get; init; }

    /// <summary>The percentiles that the data is sufficient for.</summary>
    public required IReadOnlyList<PercentileFigures> Percentiles { get; init; }

    /// <summary>The figures of an arm; <see langword="null"/> when it has no latencies of the kind.</summary>
    internal static LatencyFigures? Of(ArmRecord arm, string from, Func<RoundRecord, string?> kind, double clock)
    {
        if (arm.Latency(kind) is not { Count: > 0 } all)
        {
            return null;
        }

        LatencyHistogram[] rounds = [.. arm.Counted.Select(kind).OfType<string>().Select(HistogramCodec.Decode)];
        return new LatencyFigures
        {
            From = from,
            Count = all.Count,
            MeanNs = all.Mean,
            MinNs = all.Min,
            MaxNs = all.Max,
            Percentiles = [.. KnownPercentile.Usual.Select(p => PercentileFigures.Of(all, rounds, p, clock)).OfType<PercentileFigures>()],
        };
    }
}
