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

    /// <summary>The median of the rounds' rates.</summary>
    public required double Rate { get; init; }

    /// <summary>The lower end of the median's interval.</summary>
    public required double Low { get; init; }

    /// <summary>The upper end of it.</summary>
    public required double High { get; init; }

    /// <summary>How many rounds there are.</summary>
    public required int Rounds { get; init; }

    /// <summary>The commit as people read it, with a sign when something was changed since.</summary>
    public string Name => (Commit.Length > Shown ? Commit[..Shown] : Commit) + (Clean ? "" : "+");

    /// <summary>The point of an arm that was measured.</summary>
    public static HistoryPoint Of(ResultFile result, ArmRecord arm)
    {
        MedianInterval rate = arm.RateInterval();
        return new HistoryPoint
        {
            Commit = result.Source!.Commit,
            Clean = result.Source.Clean,
            MeasuredAt = result.StartedAt,
            Rate = rate.Median,
            Low = rate.Low,
            High = rate.High,
            Rounds = arm.Counted.Count,
        };
    }
}
