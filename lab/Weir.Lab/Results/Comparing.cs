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
                    options with
                    {
                        IsPaired = interleaved && p.Rates.Length == p.Base.Length && p.Rates.Length >= LeastPairs && IsWhole(p.Arm) && IsWhole(p.Against),
                    })),
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

    /// <summary>Compares two arms whose processes took turns, by each figure that is asked for.</summary>
    /// <param name="arm">What is compared.</param>
    /// <param name="against">What it is compared with.</param>
    /// <param name="options">Margin, level and figures.</param>
    /// <param name="clock">What a reading of the clock costs, in nanoseconds.</param>
    /// <param name="looks">How often it was looked whether it is decided.</param>
    /// <param name="share">The share of alpha that the last look had.</param>
    public static IReadOnlyList<ComparisonRecord> Figures(
        ArmRecord arm, ArmRecord against, ComparisonOptions options, double clock, int looks = 1, double share = 1)
    {
        ComparisonOptions each = options.OfEach();
        return
        [
            .. options.Figures.Select(figure => figure switch
            {
                ComparedFigure.Rate => Turns(arm, against, each, looks, share),
                ComparedFigure.Bytes => Bytes(arm, against, Record(arm, against, null, each), each),
                _ => Percentile(arm, against, figure, each, clock, looks, share),
            }).OfType<ComparisonRecord>(),
        ];
    }

    /// <summary>The bytes of an operation of two arms; <see langword="null"/> if one of them was not measured.</summary>
    /// <param name="arm">What is compared.</param>
    /// <param name="against">What it is compared with.</param>
    /// <param name="record">What does not depend on the bytes.</param>
    /// <param name="options">Margin and level.</param>
    public static ComparisonRecord? Bytes(ArmRecord arm, ArmRecord against, ComparisonRecord record, ComparisonOptions options)
    {
        if (ArmBytes.Of(against) is not { } before || ArmBytes.Of(arm) is not { } after)
        {
            return null;
        }

        (Verdict verdict, double low, double high, double p) = after.Against(before, options);
        return record with
        {
            Figure = ComparedFigure.Bytes,
            Value = after.Value,
            AgainstValue = before.Value,
            Ratio = ArmBytes.RatioOf(after.Value - before.Value, before.Value),
            Low = low,
            High = high,
            P = p,
            Verdict = verdict,
        };
    }

    /// <summary>The verdict of a comparison by its interval and p.</summary>
    public static Verdict Decide(ComparisonRecord record, ComparisonOptions options)
    {
        // Longer is slower.
        RatioInterval ratio = record.Figure == ComparedFigure.Rate
            ? new RatioInterval(record.Ratio, record.Low, record.High, options.Level)
            : new RatioInterval(1 / record.Ratio, 1 / record.High, 1 / record.Low, options.Level);
        return Comparison.Decide(ratio, record.P, options);
    }

    // The unit is the pair of processes, whose rounds have enough latencies only together. They come in the steps of the histogram, in which all pairs agree.
    private static ComparisonRecord? Percentile(
        ArmRecord arm, ArmRecord against, ComparedFigure figure, ComparisonOptions options, double clock, int looks, double share)
    {
        LatencyReading reading = LatencyReading.Of(figure, clock, arm, against);
        TurnRound[] Of(ArmRecord side, bool isCandidate) =>
        [
            .. ArmProcesses.Of(side with { Rounds = [.. side.Rounds.Where(static r => r is { Process: not null, Turn: not null })] })
                .Select(p => (p.Number, Time: reading.TimeOf(side, p.Rounds)))
                .Where(static p => p.Time is not null)
                .Select(p => new TurnRound(p.Number, 1, isCandidate, 1 / p.Time!.Value)),
        ];
        TurnRound[] before = Of(against, isCandidate: false);
        TurnRound[] after = Of(arm, isCandidate: true);
        if (before.Length == 0 || after.Length == 0)
        {
            return null;
        }

        double value = Spread.Of(after.Select(static r => 1 / r.Rate)).Median;
        double baseline = Spread.Of(before.Select(static r => 1 / r.Rate)).Median;
        double step = reading.StepOfRatio(value, baseline);
        bool isBelowClock = step >= Math.Log(1 + options.Margin);
        TurnsComparison compared = TurnsComparison.Of([.. before, .. after], options, share, step);
        RatioInterval ratio = compared.Comparison.Ratio;
        return Record(arm, against, compared.Comparison, options) with
        {
            Figure = figure,
            Pairs = compared.Pairs,
            Looks = looks,
            Ratio = 1 / ratio.Estimate,
            Low = 1 / ratio.Upper,
            High = 1 / ratio.Lower,
            Value = value,
            AgainstValue = baseline,
            IsBelowClock = isBelowClock,
            Note = isBelowClock ? FormattableString.Invariant($"a call is so short that the clock tells its latency to {step * 100:0.#} % only") : null,
        };
    }

    private static IEnumerable<TurnRound> RoundsOf(ArmRecord arm, bool isCandidate) => arm.Counted
        .Where(static r => r is { Process: not null, Turn: not null, Rate: > 0 })
        .Select(r => new TurnRound(r.Process!.Value, r.Turn!.Value, isCandidate, r.Rate, r.Room));

    // Behind a round that is left out, rounds of the same number are not those of the same time.
    private static bool IsWhole(ArmRecord arm) => arm.Rounds.All(static r => r.Problem is null);

    private static double[] Rates(ArmRecord arm) => [.. arm.Counted.Select(static r => r.Rate).Where(static r => r > 0)];

    // Without a comparison, nothing is decided.
    private static ComparisonRecord Record(ArmRecord arm, ArmRecord against, Comparison? comparison, ComparisonOptions options) => new()
    {
        Arm = arm.Label,
        Against = against.Label,
        Ratio = comparison?.Ratio.Estimate ?? 1,
        Low = comparison?.Ratio.Lower ?? 0,
        High = comparison?.Ratio.Upper ?? double.PositiveInfinity,
        P = comparison?.P ?? 1,
        Margin = options.Margin,
        Alpha = options.Alpha,
        Verdict = comparison?.Verdict ?? Verdict.Inconclusive,
        Note = comparison is null ? null : Note(arm, comparison.Candidate) ?? Note(against, comparison.Baseline),
    };

    private static string? Note(ArmRecord arm, Modality modality) => modality.Modes.Count > 1
        ? $"the rounds of {arm.Label} have several modes ({string.Join(" and ", modality.Modes.Select(Numbers.Rate))} per second)"
        : null;
}
