namespace Weir.Lab.Statistics;

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
