namespace Weir.Lab.Statistics;

/// <summary>What two arms are compared by.</summary>
public enum ComparedFigure
{
    /// <summary>Operations per second.</summary>
    [JsonStringEnumMemberName("rate")]
    Rate,

    /// <summary>Bytes that an operation allocates. Other programs do not change them, so they are exact on a busy machine too.</summary>
    [JsonStringEnumMemberName("bytes")]
    Bytes,

    /// <summary>The latency that half of the operations do not exceed.</summary>
    [JsonStringEnumMemberName("p50")]
    P50,

    /// <summary>The latency that 90 % of the operations do not exceed.</summary>
    [JsonStringEnumMemberName("p90")]
    P90,

    /// <summary>The latency that 99 % of the operations do not exceed.</summary>
    [JsonStringEnumMemberName("p99")]
    P99,

    /// <summary>
    /// The latency that a quarter of the operations do not exceed. Neighbours take whole slices of time from a few operations, so these are hardly touched.
    /// </summary>
    [JsonStringEnumMemberName("p25")]
    P25,
}
