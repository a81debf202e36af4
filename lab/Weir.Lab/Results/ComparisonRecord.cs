using System.Text.Json.Serialization;

namespace Weir.Lab.Results;

/// <summary>Two arms compared, round by round.</summary>
public sealed record ComparisonRecord
{
    // Beyond it the ends of an interval say nothing about the two arms, only that there are too few values: of two pairs they can be twenty orders of
    // magnitude apart.
    private const double WidestInterval = 100;

    /// <summary>The label of the arm that is compared.</summary>
    public required string Arm { get; init; }

    /// <summary>The label of the arm to compare with.</summary>
    public required string Against { get; init; }

    /// <summary>The rate of the arm as a multiple of the other's.</summary>
    public required double Ratio { get; init; }

    /// <summary>The lower end of the interval of the ratio.</summary>
    public required double Low { get; init; }

    /// <summary>The upper end of the interval of the ratio.</summary>
    public required double High { get; init; }

    /// <summary>The probability of such a difference between equal arms, corrected for the number of comparisons.</summary>
    public required double P { get; init; }

    /// <summary>The difference up to which two arms count as equal, as a share.</summary>
    public required double Margin { get; init; }

    /// <summary>The level of the test; the interval's is 1 - alpha.</summary>
    public required double Alpha { get; init; }

    /// <summary>The number of pairs of processes that took turns; <see langword="null"/> if rounds were compared instead of processes.</summary>
    public int? Pairs { get; init; }

    /// <summary>How often the command checked whether the comparison is decided. The interval is wide enough for all checks together.</summary>
    public int? Looks { get; init; }

    /// <summary>How strongly the rate followed the room that other programs left, if the sides are compared at equal room.</summary>
    public double? RoomSlope { get; init; }

    /// <summary>What it comes to.</summary>
    public required Verdict Verdict { get; init; }

    /// <summary>Whether there is an interval; with too few rounds or pairs of processes, there is none.</summary>
    [JsonIgnore]
    public bool HasInterval => double.IsFinite(High) && High <= Low * WidestInterval;

    /// <summary>The interval in words.</summary>
    [JsonIgnore]
    public string Interval => HasInterval ? FormattableString.Invariant($"{Low:0.000}..{High:0.000}")
        : Pairs is { } pairs ? $"none: too few pairs ({pairs})"
        : "too few rounds";

    /// <summary>An explanation of the verdict, if it needs one.</summary>
    public string? Note { get; init; }
}
