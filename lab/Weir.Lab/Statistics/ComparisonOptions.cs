namespace Weir.Lab.Statistics;

/// <summary>How rates are compared. Immutable.</summary>
public sealed record ComparisonOptions
{
    /// <summary>Up to which share a difference does not matter.</summary>
    /// <value>More than 0 and less than 1. The default is 0.03.</value>
    public double Margin { get; init; } = 0.03;

    /// <summary>How often a difference may be claimed that is none, and the other way round.</summary>
    /// <value>More than 0 and less than 0.5. The default is 0.01.</value>
    public double Alpha { get; init; } = 0.01;

    /// <summary>The level of the interval, which is that of the test: 1 - <see cref="Alpha"/>.</summary>
    public double Level => 1 - Alpha;

    /// <summary>What is compared. The figures other than bytes share <see cref="Alpha"/>.</summary>
    /// <value>The default is the rate and the bytes.</value>
    public IReadOnlyList<ComparedFigure> Figures { get; init; } = [ComparedFigure.Rate, ComparedFigure.Bytes];

    /// <summary>Whether the rounds were measured in pairs, each of the one next to one of the other.</summary>
    public bool IsPaired { get; init; }

    /// <summary>These options with the share of alpha that each figure has.</summary>
    internal ComparisonOptions OfEach() => this with { Alpha = Alpha / Math.Max(1, Figures.Count(static f => f != ComparedFigure.Bytes)) };

    /// <summary>Throws when a value is outside its range.</summary>
    /// <exception cref="ArgumentOutOfRangeException">A value is outside its range; the message names it and the range.</exception>
    public void Validate()
    {
        ThrowUnless(Margin is > 0 and < 1, nameof(Margin), Margin, "The margin is more than 0 and less than 1.");
        ThrowUnless(Alpha is > 0 and < 0.5, nameof(Alpha), Alpha, "Alpha is more than 0 and less than 0.5.");
    }

    private static void ThrowUnless(bool fine, string name, double value, string message)
    {
        if (!fine)
        {
            throw new ArgumentOutOfRangeException(name, value, message);
        }
    }
}

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

/// <summary>What a comparison of rates comes to.</summary>
public enum Verdict
{
    /// <summary>The rounds do not say: neither a difference nor that there is none.</summary>
    [JsonStringEnumMemberName("INCONCLUSIVE")]
    Inconclusive,

    /// <summary>It does more per second, by more than the margin.</summary>
    [JsonStringEnumMemberName("FASTER")]
    Faster,

    /// <summary>It does less per second, by more than the margin.</summary>
    [JsonStringEnumMemberName("SLOWER")]
    Slower,

    /// <summary>If there is a difference, it is within the margin.</summary>
    [JsonStringEnumMemberName("EQUIVALENT")]
    Equivalent,

    /// <summary>An operation allocates more bytes.</summary>
    [JsonStringEnumMemberName("MORE")]
    More,

    /// <summary>An operation allocates fewer bytes.</summary>
    [JsonStringEnumMemberName("LESS")]
    Less,
}
