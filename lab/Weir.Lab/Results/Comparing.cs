namespace Weir.Lab.Results;

/// <summary>Compares arms by the rates of their rounds, with the corrections that several comparisons in one run need.</summary>
internal static class Comparing
{
    // With fewer pairs the paired test cannot reach the usual level of 1 %, whatever the difference.
    private const int LeastPairs = 8;

    /// <summary>Compares pairs of arms. A pair without two rounds on each side is left out.</summary>
    /// <param name="pairs">The arms that are compared, and what each is compared with.</param>
    /// <param name="options">Margin and level.</param>
    /// <param name="interleaved">Whether the rounds of a pair were measured in turns.</param>
    public static IReadOnlyList<ComparisonRecord> All(IEnumerable<(ArmRecord Arm, ArmRecord Against)> pairs, ComparisonOptions options, bool interleaved)
    {
        (ArmRecord Arm, ArmRecord Against, double[] Rates, double[] Base, ComparisonOptions Options)[] known =
        [
            .. pairs.Select(p => (p.Arm, p.Against, Rates: Rates(p.Arm), Base: Rates(p.Against)))
                .Where(static p => p.Rates.Length > 1 && p.Base.Length > 1)
                .Select(p => (p.Arm, p.Against, p.Rates, p.Base,
                    options with { IsPaired = interleaved && p.Rates.Length == p.Base.Length && p.Rates.Length >= LeastPairs })),
        ];
        double[] raw = [.. known.Select(static k => Comparison.Of(k.Base, k.Rates, k.Options).P)];
        double[] adjusted = Holm.Adjust(raw);
        return [.. known.Select((k, i) => Record(k.Arm, k.Against, Comparison.Of(k.Base, k.Rates, k.Options, _ => adjusted[i]), k.Options))];
    }

    /// <summary>Compares two arms whose processes took turns, by all their rounds that count.</summary>
    /// <param name="arm">What is compared.</param>
    /// <param name="against">What it is compared with.</param>
    /// <param name="options">Margin and level.</param>
    /// <param name="looks">How often it was looked whether it is decided.</param>
    /// <param name="share">The share of alpha that the last look had.</param>
    /// <returns>The comparison; <see langword="null"/> when neither has a round in a turn.</returns>
    public static ComparisonRecord? Turns(ArmRecord arm, ArmRecord against, ComparisonOptions options, int looks = 1, double share = 1)
    {
        TurnRound[] rounds = [.. RoundsOf(against, isCandidate: false), .. RoundsOf(arm, isCandidate: true)];
        return rounds.Length == 0 ? null : Turns(arm, against, rounds, options, looks, share);
    }

    /// <summary>Compares two arms whose processes took turns.</summary>
    /// <param name="arm">What is compared.</param>
    /// <param name="against">What it is compared with.</param>
    /// <param name="rounds">The rounds of both.</param>
    /// <param name="options">Margin and level.</param>
    /// <param name="looks">How often it was looked whether it is decided.</param>
    /// <param name="share">The share of alpha that the last look had.</param>
    public static ComparisonRecord Turns(ArmRecord arm, ArmRecord against, IReadOnlyList<TurnRound> rounds, ComparisonOptions options, int looks, double share)
    {
        TurnsComparison compared = TurnsComparison.Of(rounds, options, share);
        return Record(arm, against, compared.Comparison, options) with { Pairs = compared.Pairs, Looks = looks, RoomSlope = compared.Slope };
    }

    private static IEnumerable<TurnRound> RoundsOf(ArmRecord arm, bool isCandidate) => arm.Counted
        .Where(static r => r is { Process: not null, Turn: not null, Rate: > 0 })
        .Select(r => new TurnRound(r.Process!.Value, r.Turn!.Value, isCandidate, r.Rate, r.Room));

    private static double[] Rates(ArmRecord arm) => [.. arm.Counted.Select(static r => r.Rate).Where(static r => r > 0)];

    private static ComparisonRecord Record(ArmRecord arm, ArmRecord against, Comparison comparison, ComparisonOptions options) => new()
    {
        Arm = arm.Label,
        Against = against.Label,
        Ratio = comparison.Ratio.Estimate,
        Low = comparison.Ratio.Lower,
        High = comparison.Ratio.Upper,
        P = comparison.P,
        Margin = options.Margin,
        Alpha = options.Alpha,
        Verdict = comparison.Verdict,
        Note = Note(arm, comparison.Candidate) ?? Note(against, comparison.Baseline),
    };

    private static string? Note(ArmRecord arm, Modality modality) => modality.Modes.Count > 1
        ? $"the rounds of {arm.Label} have several modes ({string.Join(" and ", modality.Modes.Select(Numbers.Rate))} per second)"
        : null;
}
