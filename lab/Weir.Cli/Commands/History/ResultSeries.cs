namespace Weir.Cli.Commands.History;

/// <summary>Sorts the results of a history by commit, and splits them by machine, arm and figure.</summary>
internal static class ResultSeries
{
    /// <summary>Splits them.</summary>
    /// <param name="results">The results, in the order in which they were measured.</param>
    /// <param name="commits">The commits in their order; a commit that is not in it makes the time of measuring the order.</param>
    /// <param name="options">Margin, and the level of all series together.</param>
    /// <returns>The series, those of one machine together; and whether they are in the order of commits.</returns>
    public static (IReadOnlyList<HistorySeries> Series, bool IsByCommit) Of(
        IReadOnlyList<ResultFile> results, IReadOnlyList<string> commits, ComparisonOptions options)
    {
        Dictionary<string, int> places = commits.Select(static (c, i) => (c, i)).ToDictionary(static x => x.c, static x => x.i);
        bool isByCommit = results.All(r => places.ContainsKey(r.Source!.Commit));
        ResultFile[] ordered = isByCommit
            ? [.. results.OrderBy(r => places[r.Source!.Commit]).ThenBy(static r => !r.Source!.Clean).ThenBy(static r => r.StartedAt)]
            : [.. OfOneCommitTogether(results)];
        var groups = ordered
            .SelectMany(static r => r.Arms.Where(static a => a.IsMeasured), static (r, a) => (Result: r, Arm: a))
            .GroupBy(static x => (x.Result.Machine.Hash, x.Arm.Label, Settings: SettingDifferences.Text(x.Result, x.Arm), x.Result.Unit))
            .ToArray();
        HistorySeries[] series = [.. groups.SelectMany(g => options.Figures, (g, figure) => new HistorySeries
            {
                Figure = figure,
                Arm = g.Key.Label,
                Machine = g.Key.Hash,
                MachineText = $"{g.First().Result.Machine.Cores} cores, {g.First().Result.Machine.Cpu}, .NET {g.First().Result.Machine.Dotnet}",
                Unit = g.Key.Unit,

                // Only if the name would be ambiguous.
                Settings = groups.Count(o => o.Key.Hash == g.Key.Hash && o.Key.Label == g.Key.Label) > 1 ? g.Key.Settings : "",
                Points = [.. g.Select(x => HistoryPoint.Of(x.Result, x.Arm, figure)).OfType<HistoryPoint>()],
            }).Where(static s => s.Points.Count > 0)];

        // Exact bytes are never wrong.
        ComparisonOptions each = options with { Alpha = options.Alpha / Math.Max(1, series.Count(static s => s.Figure != ComparedFigure.Bytes)) };
        return ([.. series.Select(s => s.Searched(each)).GroupBy(static s => s.Machine).SelectMany(static g => g)], isByCommit);
    }

    /// <summary>The commits of this repository up to the given ones, in order; empty if git does not answer.</summary>
    public static IReadOnlyList<string> Commits(IReadOnlyList<ResultFile> results) =>
        SourceTree.Order([.. results.Select(static r => r.Source!.Commit).Distinct()]) is { } order
            ? [.. order.Where(new HashSet<string>(results.Select(static r => r.Source!.Commit)).Contains)]
            : [];

    // By the time at which the first result of a commit was measured.
    private static IEnumerable<ResultFile> OfOneCommitTogether(IReadOnlyList<ResultFile> results) => results
        .GroupBy(static r => (r.Source!.Commit, r.Source.Clean))
        .SelectMany(static g => g);
}
