namespace Weir.Lab.Results;

/// <summary>Two arms compared by one figure.</summary>
public sealed record ComparisonRecord
{
    // Beyond it the ends of an interval say nothing about the two arms, only that there are too few values: of two pairs they can be twenty orders of
    // magnitude apart.
    private const double WidestInterval = 100;

    /// <summary>The label of the arm that is compared.</summary>
    public required string Arm { get; init; }

    /// <summary>The label of the arm to compare with.</summary>
    public required string Against { get; init; }

    /// <summary>What is compared.</summary>
    public ComparedFigure Figure { get; init; }

    /// <summary>The figure of the arm as a multiple of the other's: rates above 1 are faster, latencies above 1 are slower.</summary>
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

    /// <summary>The figure of the arm in its unit, for bytes and latencies; <see langword="null"/> for rates.</summary>
    public double? Value { get; init; }

    /// <summary>The same of what it is compared with.</summary>
    public double? AgainstValue { get; init; }

    /// <summary>The number of pairs of processes that took turns; <see langword="null"/> if they did not.</summary>
    public int? Pairs { get; init; }

    /// <summary>How often the command checked whether the comparison is decided. The interval is wide enough for all checks together.</summary>
    public int? Looks { get; init; }

    /// <summary>How strongly the rate followed the room that other programs left, if the sides are compared at equal room.</summary>
    public double? RoomSlope { get; init; }

    /// <summary>The number of processes of the side that has fewer, where two stored results were compared.</summary>
    public int? Processes { get; init; }

    /// <summary>What it comes to.</summary>
    public required Verdict Verdict { get; init; }

    /// <summary>
    /// The smallest change of a rate or latency that would have been found in 95 % of such comparisons, as a share; <see langword="null"/> without an interval.
    /// </summary>
    public double? Detectable => Figure != ComparedFigure.Bytes && HasInterval && Low > 0 && (Pairs ?? Processes) is > 1 and { } units
        ? Math.Max(Margin, Math.Exp(Math.Log(High / Low) / 2 * (1 + Power.Of(units - 1, Alpha))) - 1)
        : null;

    /// <summary>Whether the arm is the worse one: slower, or with more bytes.</summary>
    [JsonIgnore]
    public bool IsWorse => Verdict is Verdict.Slower or Verdict.More;

    /// <summary>Whether there is an interval; with too few rounds or pairs of processes, there is none.</summary>
    [JsonIgnore]
    public bool HasInterval => double.IsFinite(High) && High <= Low * WidestInterval;

    /// <summary>The interval in words.</summary>
    [JsonIgnore]
    public string Interval => Figure == ComparedFigure.Bytes && Low == High ? "exact"
        : HasInterval ? FormattableString.Invariant($"{Low:0.000}..{High:0.000}")
        : Pairs is { } pairs ? $"none: too few pairs ({pairs})"
        : Processes is { } processes ? $"none: too few processes ({processes})"
        : "too few rounds";

    /// <summary>Whether the calls are too short for the clock to tell two latencies apart that differ by the margin.</summary>
    internal bool IsBelowClock { get; init; }

    /// <summary>The values of both arms, as the beginning of a sentence's end; nothing for rates.</summary>
    internal string ValuesText => this is not { Value: { } value, AgainstValue: { } against } ? ""
        : Figure == ComparedFigure.Bytes ? FormattableString.Invariant($"{value:#,0.#} B an operation against {against:#,0.#} ")
        : $"{TimeText(value)} against {TimeText(against)}, ";

    /// <summary>An explanation of the verdict, if it needs one.</summary>
    public string? Note { get; init; }

    private static string TimeText(double nanoseconds) =>
        nanoseconds < 100 ? FormattableString.Invariant($"{nanoseconds:0.#} ns") : Numbers.Nanoseconds(nanoseconds);
}
