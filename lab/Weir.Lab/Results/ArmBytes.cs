namespace Weir.Lab.Results;

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
