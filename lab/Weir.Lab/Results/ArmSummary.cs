namespace Weir.Lab.Results;

/// <summary>
/// What the rounds of one arm come to: for programs that do not want to add them up themselves. It is made of the rounds whenever it is asked for, and never
/// read.
/// </summary>
public sealed record ArmSummary
{
    /// <summary>The name of the arm.</summary>
    public required string Arm { get; init; }

    /// <summary>Its workers.</summary>
    public required int Workers { get; init; }

    /// <summary>The rounds that count.</summary>
    public required int Rounds { get; init; }

    /// <summary>The median of their rates.</summary>
    public required double Rate { get; init; }

    /// <summary>The lower end of the median's interval.</summary>
    public required double RateLow { get; init; }

    /// <summary>The upper end of the median's interval.</summary>
    public required double RateHigh { get; init; }

    /// <summary>How often such an interval holds the true median, from 0 to 1.</summary>
    public required double RateLevel { get; init; }

    /// <summary>The lowest rate.</summary>
    public required double RateMin { get; init; }

    /// <summary>The highest rate.</summary>
    public required double RateMax { get; init; }

    /// <summary>The latencies: from the start of an operation, and with a rate also from the intended start.</summary>
    public IReadOnlyList<LatencyFigures> Latency { get; init; } = [];

    /// <summary>How long the runs took, if the arm is a program.</summary>
    public RunTimes? Run { get; init; }

    /// <summary>The figures of a pass and of an item; <see langword="null"/> for an arm without passes.</summary>
    public PassFigures? Pass { get; init; }

    /// <summary>The summary of an arm that was measured.</summary>
    /// <param name="arm">The arm.</param>
    /// <param name="arms">All arms of the result.</param>
    /// <param name="clock">What a reading of the clock costs, in nanoseconds.</param>
    internal static ArmSummary Of(ArmRecord arm, IReadOnlyList<ArmRecord> arms, double clock)
    {
        MedianInterval rate = arm.RateInterval();
        (string From, Func<RoundRecord, string?> Kind)[] kinds = [("start", static r => r.Service), ("intended_start", static r => r.Response)];
        return new ArmSummary
        {
            Arm = arm.Name,
            Workers = arm.Workers,
            Rounds = arm.Counted.Count,
            Rate = rate.Median,
            RateLow = rate.Low,
            RateHigh = rate.High,
            RateLevel = rate.Level,
            RateMin = arm.Counted.Min(static r => r.Rate),
            RateMax = arm.Counted.Max(static r => r.Rate),
            Latency = [.. kinds.Select(k => LatencyFigures.Of(arm, k.From, k.Kind, clock)).OfType<LatencyFigures>()],
            Run = RunTimes.Of(arm),
            Pass = PassFigures.Of(arm, arms),
        };
    }
}
