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

/// <summary>Two things compared by the rates of their rounds. The round is the unit: operations of one round are not independent of each other.</summary>
/// <param name="Verdict">What it comes to.</param>
/// <param name="Ratio">How many times as much per second the candidate does, with the interval that is shown.</param>
/// <param name="P">The probability of such a difference by chance, by the rank test.</param>
/// <param name="Baseline">Whether the baseline's rounds have several modes.</param>
/// <param name="Candidate">Whether the candidate's rounds have several modes.</param>
internal sealed record Comparison(Verdict Verdict, RatioInterval Ratio, double P, Modality Baseline, Modality Candidate)
{
    /// <summary>Compares rates.</summary>
    /// <param name="baseline">Rates of the baseline's rounds. At least one, all more than zero.</param>
    /// <param name="candidate">Rates of the candidate's rounds. At least one, all more than zero; for pairs as many, in the same order.</param>
    /// <param name="options">How; <see langword="null"/> for the defaults.</param>
    /// <param name="adjust">
    /// Corrects the probability for other comparisons of the same run, as <see cref="Holm"/> does; <see langword="null"/> for none.
    /// </param>
    public static Comparison Of(
        IReadOnlyList<double> baseline, IReadOnlyList<double> candidate, ComparisonOptions? options = null, Func<double, double>? adjust = null)
    {
        options ??= new ComparisonOptions();
        options.Validate();
        RatioInterval interval = options.IsPaired
            ? HodgesLehmann.PairedRatio(baseline, candidate, options.Level)
            : HodgesLehmann.Ratio(baseline, candidate, options.Level);
        double p = options.IsPaired ? SignedRank.Test(baseline, candidate).P : MannWhitney.Test(baseline, candidate).P;
        p = adjust?.Invoke(p) ?? p;
        return new Comparison(Decide(interval, p, options), interval, p, Modality.Of(baseline), Modality.Of(candidate));
    }

    /// <summary>The verdict of an interval and the test that belongs to it. They are of one level, so they never contradict each other.</summary>
    internal static Verdict Decide(RatioInterval interval, double p, ComparisonOptions options)
    {
        double upper = 1 + options.Margin;
        double lower = 1 / upper;
        bool isSignificant = p < options.Alpha;
        return isSignificant && interval.Estimate > upper ? Verdict.Faster
            : isSignificant && interval.Estimate < lower ? Verdict.Slower
            : interval.IsWithin(lower, upper) ? Verdict.Equivalent
            : Verdict.Inconclusive;
    }
}

/// <summary>
/// Two things compared by rounds that pairs of processes made in turns. The pair is the unit: rounds of one process share its code, memory and threads, so
/// the interval comes from how much the pairs differ, by the distribution of Student.
/// </summary>
/// <param name="Comparison">What it comes to.</param>
/// <param name="Pairs">How many pairs of processes it rests on.</param>
/// <param name="Slope">
/// By how much the rate followed the room that others left, on logarithmic scales; <see langword="null"/> when the rounds were taken as they are.
/// </param>
internal sealed record TurnsComparison(Comparison Comparison, int Pairs, double? Slope)
{
    // With fewer turns the slope would follow chance.
    private const int LeastTurns = 8;

    // How sure it must be that the two leave others different room before that is taken for their doing.
    private const double RoomLevel = 0.01;

    /// <summary>Compares.</summary>
    /// <param name="rounds">The rounds. Turns in which a side has none do not count.</param>
    /// <param name="options">Margin and level.</param>
    /// <param name="share">The share of alpha that this look has, as <see cref="SequentialLooks"/> says: more than 0, 1 for a single look.</param>
    /// <param name="step">
    /// By how much the logarithm of the ratio may be off in all pairs alike, because what was measured comes in steps. The interval is wider by it on both
    /// sides.
    /// </param>
    /// <returns>The comparison. With fewer than two pairs nothing can be said.</returns>
    /// <remarks>
    /// Where other programs take much of the processors, most of the differences between rounds are theirs. How much room they left is known, so it serves as
    /// a control variate: each turn's logarithm of the ratio is compared at equal room, with the slope that the turns themselves show (R. Y. Rubinstein and
    /// R. Marcus, Operations Research 33, 1985). Not when the two sides themselves leave different room, which is then a part of what is compared.
    /// </remarks>
    public static TurnsComparison Of(IReadOnlyList<TurnRound> rounds, ComparisonOptions options, double share = 1, double step = 0)
    {
        options.Validate();
        if (!(share is > 0 and <= 1))
        {
            throw new ArgumentOutOfRangeException(nameof(share), share, "A share is more than 0 and at most 1.");
        }

        TurnDifference[] turns = [.. TurnDifference.Of(rounds)];
        double? slope = SlopeOf(turns);
        double[] means = [.. turns.GroupBy(static t => t.Pair).Select(g => g.Average(t => t.At(slope)))];
        double estimate = means.Length > 0 ? means.Average() : 0;
        RatioInterval ratio;
        double p = 1;
        if (means.Length < 2)
        {
            ratio = new RatioInterval(Math.Exp(estimate), 0, double.PositiveInfinity, options.Level);
        }
        else
        {
            double error = StandardError(means);
            StudentDistribution student = new(means.Length - 1);
            double half = (student.Quantile(1 - (options.Alpha * share / 2)) * error) + step;
            ratio = new RatioInterval(Math.Exp(estimate), Math.Exp(estimate - half), Math.Exp(estimate + half), options.Level);

            // On the scale of the whole comparison, so that it is below alpha exactly when the interval leaves out 1.
            double sure = Math.Max(0, Math.Abs(estimate) - step);
            p = Math.Min(1, 2 * student.Cdf(-sure / Math.Max(error, double.Epsilon)) / share);
        }

        return new TurnsComparison(
            new Comparison(Comparison.Decide(ratio, p, options), ratio, p, ModalityOf(rounds, false), ModalityOf(rounds, true)), means.Length, slope);
    }

    private static double? SlopeOf(TurnDifference[] turns)
    {
        if (turns.Length < LeastTurns || turns.Any(static t => t.Room is null))
        {
            return null;
        }

        double room = turns.Average(static t => t.Room!.Value);
        double rate = turns.Average(static t => t.Rate);
        double squares = turns.Sum(t => Math.Pow(t.Room!.Value - room, 2));
        return squares > 0 && !HaveDifferentRoom(turns) ? turns.Sum(t => (t.Room!.Value - room) * (t.Rate - rate)) / squares : null;
    }

    private static bool HaveDifferentRoom(TurnDifference[] turns)
    {
        double[] means = [.. turns.GroupBy(static t => t.Pair).Select(static g => g.Average(static t => t.Room!.Value))];
        return means.Length < 2 || Math.Abs(means.Average()) > new StudentDistribution(means.Length - 1).Quantile(1 - (RoomLevel / 2)) * StandardError(means);
    }

    private static double StandardError(double[] values)
    {
        double mean = values.Average();
        return Math.Sqrt(values.Sum(v => (v - mean) * (v - mean)) / (values.Length - 1) / values.Length);
    }

    // Of processes, not of rounds: rounds of a few milliseconds have heaps that the scheduler makes.
    private static Modality ModalityOf(IReadOnlyList<TurnRound> rounds, bool isCandidate) =>
        rounds.Where(r => r.IsCandidate == isCandidate)
            .GroupBy(static r => r.Pair)
            .Select(static g => g.Average(static r => r.Rate))
            .ToArray() is { Length: > 0 } rates
            ? Modality.Of(rates)
            : new Modality(2, []);

    private sealed record TurnDifference(int Pair, double Rate, double? Room)
    {
        public static IEnumerable<TurnDifference> Of(IReadOnlyList<TurnRound> rounds) =>
            from turn in rounds.Where(static r => r.Rate > 0).GroupBy(static r => (r.Pair, r.Turn))
            let before = turn.Where(static r => !r.IsCandidate).ToArray()
            let after = turn.Where(static r => r.IsCandidate).ToArray()
            where before.Length > 0 && after.Length > 0
            select new TurnDifference(
                turn.Key.Pair,
                after.Average(static r => Math.Log(r.Rate)) - before.Average(static r => Math.Log(r.Rate)),
                turn.All(static r => r.Room > 0)
                    ? after.Average(static r => Math.Log(r.Room!.Value)) - before.Average(static r => Math.Log(r.Room!.Value))
                    : null);

        public double At(double? slope) => slope is { } s ? Rate - (s * Room!.Value) : Rate;
    }
}

/// <summary>A round of a comparison in which pairs of processes take turns.</summary>
/// <param name="Pair">The pair of processes, one of the baseline and one of the candidate, that made it.</param>
/// <param name="Turn">The turn of the pair: in each, both sides make as many rounds, there and back.</param>
/// <param name="IsCandidate">Whether it is one of the candidate.</param>
/// <param name="Rate">Operations per second. More than zero.</param>
/// <param name="Room">The share of the machine's processor time that others did not take, from 0 to 1; <see langword="null"/> where it is not known.</param>
internal readonly record struct TurnRound(int Pair, int Turn, bool IsCandidate, double Rate, double? Room = null);

/// <summary>
/// How sure each look at a comparison must be that ends as soon as it is decided. Looking several times would claim too much if each look took the whole of
/// alpha; here the looks share it.
/// </summary>
/// <remarks>
/// By the inequality of Bonferroni the looks together are wrong no more often than the sum of their shares, however they depend on each other: the looks at
/// thirds of the time get a fifth, three tenths and the half of alpha. The bounds are wide at first and hardly wider than without looks at the end, as those
/// of Haybittle and Peto are; the intervals are repeated confidence intervals (C. Jennison and B. W. Turnbull, <i>Group Sequential Methods with Applications
/// to Clinical Trials</i>, 2000, chapters 2 and 9).
/// </remarks>
internal sealed class SequentialLooks
{
    private static readonly double[] Shares = [0.2, 0.3, 0.5];
    private int _next;
    private double _left = 1;

    /// <summary>Whether it is time to look.</summary>
    /// <param name="progress">How much of what is to be measured at most has been measured, from 0 to 1. It must not depend on what came out.</param>
    /// <returns>Whether the next look is due.</returns>
    public bool IsDue(double progress) => _next < Shares.Length && progress >= (_next + 1.0) / Shares.Length - 1e-9;

    /// <summary>Takes the next look.</summary>
    /// <param name="isLast">Whether it ends here, so that what earlier looks have left is used up.</param>
    /// <returns>The share of alpha that the look has.</returns>
    public double Take(bool isLast)
    {
        double share = isLast || _next == Shares.Length - 1 ? _left : Math.Min(_left, Shares[_next]);
        _next++;
        _left = Math.Max(0, _left - share);
        return share;
    }
}

/// <summary>
/// The bytes that an operation of an arm allocates. Other programs do not change them, so where each round has the same they are exact, on a busy machine
/// too: after one round of many operations that allocate whole objects, or three others.
/// </summary>
internal sealed class ArmBytes
{
    // What a round's count may miss: the part of an allocation context that a thread has and has not used.
    private const double UncountedPerRound = 8192;

    // No object is so small; one in each twenty-fourth operation is.
    internal const double LeastDifference = 1;

    // The size of any object is a multiple of it.
    private const double ObjectUnit = 8;

    // Fewer rounds are only exact if what a round may miss is too little to matter, and they are of whole objects.
    private const int EnoughRounds = 3;

    // A round in which something else of the process allocated once does not count for more than it is.
    private const double MostOthers = 0.1;

    private readonly double[] _values;

    private ArmBytes(double[] values, double uncertain)
    {
        _values = values;
        Value = Spread.Of(values).Median;
        double middle = Value;
        IsExact = values.Count(v => !AreSame(v, middle)) <= MostOthers * values.Length
            && (values.Length >= EnoughRounds || (uncertain <= LeastDifference / 2 && AreWhole(middle)));
    }

    /// <summary>Whether bytes are those of whole objects, and no mean of operations that differ: nobody knows what one reading of a mean is worth.</summary>
    public static bool AreWhole(double bytes) => Math.Abs(Math.IEEERemainder(bytes, ObjectUnit)) <= LeastDifference / 2;

    /// <summary>Whether two counts are of the same objects.</summary>
    public static bool AreSame(double bytes, double others) => Math.Abs(bytes - others) <= LeastDifference / 2;

    /// <summary>What exact bytes come to.</summary>
    public static Verdict Exact(double bytes, double against) =>
        Math.Abs(bytes - against) <= LeastDifference ? Verdict.Equivalent : bytes > against ? Verdict.More : Verdict.Less;

    /// <summary>Bytes an operation: the median of the rounds.</summary>
    public double Value { get; }

    /// <summary>Whether each round has the same.</summary>
    public bool IsExact { get; }

    /// <summary>The bytes of an arm; <see langword="null"/> if they were not measured.</summary>
    public static ArmBytes? Of(ArmRecord arm)
    {
        RoundRecord[] rounds = [.. arm.Counted.Where(static r => r is { AllocatedBytes: not null, Operations: > 0 })];
        return rounds.Length == 0 ? null : new ArmBytes(
            [.. rounds.Select(static r => r.AllocatedBytes!.Value / (double)r.Operations)],
            Spread.Of(rounds.Select(static r => UncountedPerRound / r.Operations)).Median);
    }

    /// <summary>Compares the bytes of two arms.</summary>
    /// <param name="other">Those to compare with.</param>
    /// <param name="options">Margin and level, for bytes that differ from round to round.</param>
    /// <returns>The verdict, the interval of the ratio, and the probability; of exact bytes the interval has no width.</returns>
    public (Verdict Verdict, double Low, double High, double P) Against(ArmBytes other, ComparisonOptions options)
    {
        double difference = Value - other.Value;
        if (IsExact && other.IsExact)
        {
            Verdict exact = Exact(Value, other.Value);
            return (exact, RatioOf(difference, other.Value), RatioOf(difference, other.Value), exact == Verdict.Equivalent ? 1 : 0);
        }

        Welch test = Welch.Of(other._values, _values, options.Level);
        double mean = other._values.Average();
        double most = Math.Max(LeastDifference, options.Margin * mean);
        (double low, double high) = (test.Difference - test.Half, test.Difference + test.Half);
        Verdict verdict = low > most ? Verdict.More
            : high < -most ? Verdict.Less
            : low >= -most && high <= most ? Verdict.Equivalent
            : Verdict.Inconclusive;
        return (verdict, RatioOf(low, mean), RatioOf(high, mean), test.P);
    }

    /// <summary>What so much more is as a multiple.</summary>
    public static double RatioOf(double difference, double of) => of > 0 ? Math.Max(0, (of + difference) / of) : difference > 0 ? double.PositiveInfinity : 1;
}

/// <summary>The processes that measured an arm. They are the units of a comparison: rounds of one process share its code, memory and threads.</summary>
internal sealed class ArmProcesses
{
    // Of the processors' time, what others may take before a round says more about them.
    private const double MostTakenByOthers = 0.1;
    private const double MostSteal = 0.01;

    // The share of the processes that may be disturbed. They are left out, by their conditions and never by their rates.
    private const double MostDisturbed = 0.25;

    private readonly ArmRecord _arm;
    private readonly RoundRecord[][] _all;
    private readonly RoundRecord[][] _quiet;

    /// <summary>Finds them.</summary>
    /// <param name="result">The result that the arm is of.</param>
    /// <param name="arm">The arm.</param>
    public ArmProcesses(ResultFile result, ArmRecord arm)
    {
        _arm = arm;
        _all = [.. Of(arm).Select(static p => p.Rounds)];
        _quiet = [.. _all.Where(p => !p.Any(r => IsUnquiet(r, result.Machine.Cores)))];

        // Rounds that take turns have no canary of their own; then the result says what it found before and after.
        bool isKnown = arm.Counted.Any(static r => r.CanarySlowness > 0);
        IsDisturbed = _all.Length - _quiet.Length > MostDisturbed * _all.Length || (!isKnown && result.IsOfAnUnquietMachine);
        Speed = arm.Counted.Select(static r => r.CanarySpeed).OfType<double>().ToArray() is { Length: > 0 } speeds ? Spread.Of(speeds).Median : null;
    }

    /// <summary>Whether other programs had so much of the machine that rates and latencies say little about the arm.</summary>
    public bool IsDisturbed { get; }

    /// <summary>How many processes count.</summary>
    public int Count => _quiet.Length;

    /// <summary>How fast the processor was, in steps of the canary per second; <see langword="null"/> if it is not known.</summary>
    public double? Speed { get; }

    /// <summary>The rate of each process that counts: the geometric mean of its rounds.</summary>
    public double[] Rates() => [.. _quiet.Select(static p => p.Select(static r => r.Rate).Where(static r => r > 0).ToArray())
        .Where(static rates => rates.Length > 0).Select(static rates => Math.Exp(rates.Average(static r => Math.Log(r))))];

    /// <summary>A latency of each process that counts, without the clock; not of those that do not have it.</summary>
    /// <param name="reading">How it is read.</param>
    public double[] Latencies(LatencyReading reading) => [.. _quiet.Select(p => reading.TimeOf(_arm, p)).OfType<double>()];

    /// <summary>The rounds of each process, by its number.</summary>
    public static IEnumerable<(int Number, RoundRecord[] Rounds)> Of(ArmRecord arm) => arm.Counted
        .GroupBy(r => r.Process ?? (arm.IsProgram ? r.Order : 0))
        .OrderBy(static g => g.Key)
        .Select(static g => (g.Key, g.ToArray()));

    private static bool IsUnquiet(RoundRecord round, int cores) =>
        round.CanaryVariation > Canary.QuietVariation || round.Room < 1 - MostTakenByOthers || round.StealSeconds > MostSteal * cores * round.Seconds;
}

/// <summary>
/// How a latency is read from rounds. That of a single call has a reading of the clock in it, which of a call of some nanoseconds is nearly all. So of such
/// calls the lower quartile is that of their batches, divided by the calls of a batch, where all that is compared has batches of one size.
/// </summary>
internal sealed class LatencyReading
{
    private readonly ComparedFigure _figure;
    private readonly int? _batch;

    // What a reading of the clock adds to each value. Of a batch it is too little to tell.
    private readonly double _clock;

    private LatencyReading(ComparedFigure figure, double clock, int? batch) =>
        (_figure, _clock, _batch) = (figure, batch is null ? clock : 0, batch);

    /// <summary>How a latency of some arms is read.</summary>
    /// <param name="figure">Which latency.</param>
    /// <param name="clock">What a reading of the clock costs, in nanoseconds.</param>
    /// <param name="arms">All that are compared with each other.</param>
    public static LatencyReading Of(ComparedFigure figure, double clock, params IEnumerable<ArmRecord> arms) =>
        new(figure, clock, figure == ComparedFigure.P25 ? BatchOf([.. arms.SelectMany(static a => a.Counted)]) : null);

    /// <summary>The latency of rounds together, in nanoseconds, with the clock in it; <see langword="null"/> if they do not have it.</summary>
    /// <param name="arm">The arm that they are of.</param>
    /// <param name="rounds">The rounds.</param>
    public double? ValueOf(ArmRecord arm, IReadOnlyList<RoundRecord> rounds)
    {
        ArmRecord own = arm with { Rounds = rounds };
        if (_batch is { } batch)
        {
            return own.Latency(static r => r.BatchTimes) is { } times ? times.ValueAtPercentile(Percentile) / (double)batch : null;
        }

        // With a rate, what the caller waits counts.
        return (own.Latency(static r => r.Response) ?? own.Latency(static r => r.Service)) is { } latency
            && KnownPercentile.Of(latency, Percentile, _clock) is { IsBound: false } known
            ? known.Nanoseconds
            : null;
    }

    /// <summary>How long a call takes: what some rounds say of the figure, less the time of reading the clock.</summary>
    /// <param name="arm">The arm that they are of.</param>
    /// <param name="rounds">The rounds.</param>
    public double? TimeOf(ArmRecord arm, IReadOnlyList<RoundRecord> rounds) => ValueOf(arm, rounds) - _clock is > 0 and { } time ? time : null;

    /// <summary>By how much the logarithm of the ratio of two latencies may be off, because each may lie anywhere in its step of the histogram.</summary>
    /// <param name="first">A latency without the clock, in nanoseconds.</param>
    /// <param name="second">Another one.</param>
    public double StepOfRatio(double first, double second) => LatencySteps.OfRatio(first * (_batch ?? 1), second * (_batch ?? 1), _clock);

    private double Percentile => _figure switch { ComparedFigure.P25 => 25, ComparedFigure.P50 => 50, ComparedFigure.P90 => 90, _ => 99 };

    private static int? BatchOf(RoundRecord[] rounds) =>
        rounds.Length > 0 && rounds[0].Batch is { } batch && rounds.All(r => r.Batch == batch && r.BatchTimes is not null) ? batch : null;
}
