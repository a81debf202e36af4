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

    /// <summary>The same with the changes that it shows.</summary>
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
