namespace Weir.Lab.Results;

/// <summary>What one result says of an arm.</summary>
internal sealed record HistoryPoint
{
    private const int Shown = 7;

    /// <summary>The commit that was measured.</summary>
    public required string Commit { get; init; }

    /// <summary>Whether nothing was changed since.</summary>
    public required bool Clean { get; init; }

    /// <summary>When it was measured.</summary>
    public required DateTimeOffset MeasuredAt { get; init; }

    /// <summary>The figure: for a rate, the median of the rounds.</summary>
    public required double Value { get; init; }

    /// <summary>The lower end of the interval of a rate; of other figures the same as the value.</summary>
    public required double Low { get; init; }

    /// <summary>The upper end of it.</summary>
    public required double High { get; init; }

    /// <summary>Whether other programs had so much of the machine that the rate or latency is shown, but no change is looked for in it.</summary>
    public bool Disturbed { get; init; }

    /// <summary>How many rounds there are.</summary>
    public required int Rounds { get; init; }

    /// <summary>The commit as people read it, with a sign when something was changed since.</summary>
    public string Name => (Commit.Length > Shown ? Commit[..Shown] : Commit) + (Clean ? "" : "+");

    /// <summary>The point of an arm that was measured; <see langword="null"/> if it has no such figure.</summary>
    public static HistoryPoint? Of(ResultFile result, ArmRecord arm, ComparedFigure figure)
    {
        MedianInterval rate = arm.RateInterval();
        double? value = figure switch
        {
            ComparedFigure.Rate => rate.Median,
            ComparedFigure.Bytes => ArmBytes.Of(arm) is { IsExact: true } bytes ? bytes.Value : null,
            _ => LatencyReading.Of(figure, result.Machine.ClockNs, arm).ValueOf(arm, arm.Rounds),
        };
        return value is not { } known ? null : new HistoryPoint
        {
            Commit = result.Source!.Commit,
            Clean = result.Source.Clean,
            MeasuredAt = result.StartedAt,
            Value = known,
            Low = figure == ComparedFigure.Rate ? rate.Low : known,
            High = figure == ComparedFigure.Rate ? rate.High : known,
            Disturbed = figure != ComparedFigure.Bytes && new ArmProcesses(result, arm).IsDisturbed,
            Rounds = arm.Counted.Count,
        };
    }
}
