namespace Weir.Lab.Results;

/// <summary>The results of one arm on one machine, commit by commit.</summary>
internal sealed record HistorySeries
{
    public required string Arm { get; init; }

    /// <summary>The machine, by the hash of its environment.</summary>
    public required string Machine { get; init; }

    /// <summary>The machine in words.</summary>
    public required string MachineText { get; init; }

    /// <summary>What of the arm it shows.</summary>
    public ComparedFigure Figure { get; init; }

    /// <summary>What a rate counts.</summary>
    public required string Unit { get; init; }

    /// <summary>What is particular to it, where several have its name.</summary>
    public string Settings { get; init; } = "";

    /// <summary>The results in the order of their commits.</summary>
    public required IReadOnlyList<HistoryPoint> Points { get; init; }

    /// <summary>Where the rate changed.</summary>
    public IReadOnlyList<HistoryChange> Changes { get; init; } = [];

    /// <summary>Figure, arm and settings in one text.</summary>
    public string Name => (Figure == ComparedFigure.Rate ? "" : $"{FigureWords.Of(Figure)} of ") + (Settings.Length > 0 ? $"{Arm} ({Settings})" : Arm);

    /// <summary>A value in its unit.</summary>
    public string Text(double value) => Figure switch
    {
        ComparedFigure.Rate => Numbers.Rate(value),
        ComparedFigure.Bytes => FormattableString.Invariant($"{value:#,0.#} B"),
        _ => Numbers.Nanoseconds(value),
    };

    /// <summary>This series with the changes that it shows.</summary>
    public HistorySeries Searched(ComparisonOptions options) => this with { Changes = Figure == ComparedFigure.Bytes ? [.. ExactChanges()] : Found(options) };

    private HistoryChange[] Found(ComparisonOptions options)
    {
        HistoryPoint[] points = [.. Points.Where(static p => !p.Disturbed)];
        int[] steps = new int[points.Length];
        for (int i = 1; i < steps.Length; i++)
        {
            steps[i] = steps[i - 1] + (points[i].Name == points[i - 1].Name ? 0 : 1);
        }

        IReadOnlyList<ChangePoint> found = ChangePoints.Of([.. points.Select(static p => Math.Log(p.Value))], options.Alpha, steps);
        int[] ends = [0, .. found.Select(static c => c.Index), points.Length];
        return [.. found.Select((c, i) => Change(points, c, points.Take(ends[i]..ends[i + 1]), points.Take(ends[i + 1]..ends[i + 2]), options))];
    }

    // Bytes that are exact change where they change: no test is needed.
    private IEnumerable<HistoryChange> ExactChanges()
    {
        for (int i = 1; i < Points.Count; i++)
        {
            (HistoryPoint before, HistoryPoint after) = (Points[i - 1], Points[i]);
            if (Math.Abs(after.Value - before.Value) > ArmBytes.LeastDifference)
            {
                double ratio = ArmBytes.RatioOf(after.Value - before.Value, before.Value);
                yield return new HistoryChange
                {
                    Commit = after.Name,
                    Before = before.Name,
                    Ratio = ratio,
                    Low = ratio,
                    High = ratio,
                    P = 0,
                    Verdict = after.Value > before.Value ? Verdict.More : Verdict.Less,
                };
            }
        }
    }

    private HistoryChange Change(
        HistoryPoint[] points, ChangePoint at, IEnumerable<HistoryPoint> before, IEnumerable<HistoryPoint> after, ComparisonOptions options)
    {
        RatioInterval ratio = HodgesLehmann.Ratio([.. before.Select(static p => p.Value)], [.. after.Select(static p => p.Value)], options.Level);
        double faster = Figure == ComparedFigure.Rate ? ratio.Estimate : 1 / ratio.Estimate;
        return new HistoryChange
        {
            Commit = points[at.Index].Name,
            Before = points[at.Index - 1].Name,
            Ratio = ratio.Estimate,
            Low = ratio.Lower,
            High = ratio.Upper,
            P = at.P,
            Verdict = faster > 1 + options.Margin ? Verdict.Faster : faster < 1 / (1 + options.Margin) ? Verdict.Slower : Verdict.Equivalent,
        };
    }
}

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

/// <summary>A commit with which a figure of an arm changed.</summary>
internal sealed record HistoryChange
{
    /// <summary>The first commit that has the new figure.</summary>
    public required string Commit { get; init; }

    /// <summary>The last one that has the old figure. Commits between the two were not measured.</summary>
    public required string Before { get; init; }

    /// <summary>The figure after it as a multiple of the one before.</summary>
    public required double Ratio { get; init; }

    /// <summary>The lower end of the ratio's interval; 0 with too few results.</summary>
    public required double Low { get; init; }

    /// <summary>The upper end; infinite with too few results.</summary>
    public required double High { get; init; }

    /// <summary>How often a history without a change has a split that looks so much like one.</summary>
    public required double P { get; init; }

    /// <summary>What it comes to: a change within the margin is <see cref="Verdict.Equivalent"/>.</summary>
    public required Verdict Verdict { get; init; }
}
