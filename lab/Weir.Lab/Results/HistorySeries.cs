namespace Weir.Lab.Results;

/// <summary>The results of one arm on one machine, commit by commit.</summary>
internal sealed record HistorySeries
{
    /// <summary>The arm.</summary>
    public required string Arm { get; init; }

    /// <summary>The machine, by the hash of its environment.</summary>
    public required string Machine { get; init; }

    /// <summary>The machine in words.</summary>
    public required string MachineText { get; init; }

    /// <summary>What a rate counts.</summary>
    public required string Unit { get; init; }

    /// <summary>What is particular to it, where several have its name.</summary>
    public string Settings { get; init; } = "";

    /// <summary>The results in the order of their commits.</summary>
    public required IReadOnlyList<HistoryPoint> Points { get; init; }

    /// <summary>Where the rate changed.</summary>
    public IReadOnlyList<HistoryChange> Changes { get; init; } = [];

    /// <summary>Arm and settings in one text.</summary>
    public string Name => Settings.Length > 0 ? $"{Arm} ({Settings})" : Arm;

    /// <summary>The same with the changes that it shows.</summary>
    /// <param name="options">Margin and level.</param>
    public HistorySeries Searched(ComparisonOptions options)
    {
        int[] steps = new int[Points.Count];
        for (int i = 1; i < steps.Length; i++)
        {
            steps[i] = steps[i - 1] + (Points[i].Name == Points[i - 1].Name ? 0 : 1);
        }

        IReadOnlyList<ChangePoint> found = ChangePoints.Of([.. Points.Select(static p => Math.Log(p.Rate))], options.Alpha, steps);
        int[] ends = [0, .. found.Select(static c => c.Index), Points.Count];
        return this with
        {
            Changes = [.. found.Select((c, i) => Change(c, Points.Take(ends[i]..ends[i + 1]), Points.Take(ends[i + 1]..ends[i + 2]), options))],
        };
    }

    private HistoryChange Change(ChangePoint at, IEnumerable<HistoryPoint> before, IEnumerable<HistoryPoint> after, ComparisonOptions options)
    {
        RatioInterval ratio = HodgesLehmann.Ratio([.. before.Select(static p => p.Rate)], [.. after.Select(static p => p.Rate)], options.Level);
        return new HistoryChange
        {
            Commit = Points[at.Index].Name,
            Before = Points[at.Index - 1].Name,
            Ratio = ratio.Estimate,
            Low = ratio.Lower,
            High = ratio.Upper,
            P = at.P,
            Verdict = ratio.Estimate > 1 + options.Margin ? Verdict.Faster : ratio.Estimate < 1 / (1 + options.Margin) ? Verdict.Slower : Verdict.Equivalent,
        };
    }
}
