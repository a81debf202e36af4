namespace Weir.Lab.Results;

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

    /// <summary>The same without the clock: how long a call takes.</summary>
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
