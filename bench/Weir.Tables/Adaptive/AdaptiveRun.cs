using Weir.Limits;

namespace Weir.Tables.Adaptive;

/// <summary>A scenario, and what the laws reached in it: ours first, then the published ones.</summary>
internal sealed record AdaptiveReading(Scenario Scenario, string BestLimits, Judgement[] Verdicts)
{
    /// <summary>A law may stay this far below the best published one where none reaches the goal.</summary>
    public const double Nearly = 0.95;

    public Judgement Ours => Verdicts[0];

    public bool IsReachable => Verdicts.Any(static verdict => verdict.IsMet);

    public bool IsMet => Ours.IsMet || (!IsReachable && Ours.Score >= Nearly * Verdicts[1..].Max(static verdict => verdict.Score));
}

/// <summary>What <c>adaptive</c> does: run every law through every scenario of the simulator, and write the page.</summary>
internal sealed class AdaptiveRun(TextWriter output, TextWriter progress)
{
    /// <summary>The command's name.</summary>
    public const string Verb = "adaptive";

    public static LawKind[] Laws { get; } = [LawKind.Weir, .. LawKind.Published];

    /// <summary>The scenarios that patterns select.</summary>
    /// <exception cref="BadInputException">There is none.</exception>
    public static Scenario[] Select(IReadOnlyList<string> filter) =>
        Selection.Matching(Grid.All, filter, static scenario => scenario.Key, "its group, the server and the slots");

    /// <summary>Simulates, and writes the page.</summary>
    public async Task RunAsync(int seeds, IReadOnlyList<string> filter, FileInfo? page, CancellationToken cancellationToken)
    {
        Scenario[] scenarios = Select(filter);
        PageFile.Check(page);
        long start = Stopwatch.GetTimestamp();
        int[] drawn = [.. Enumerable.Range(1, seeds)];
        AdaptiveReading[] readings = new AdaptiveReading[scenarios.Length];
        ParallelOptions options = new() { CancellationToken = cancellationToken, MaxDegreeOfParallelism = Environment.ProcessorCount };
        await Parallel.ForAsync(0, scenarios.Length, options, async (i, _) =>
        {
            Judge judge = new(scenarios[i], drawn);
            readings[i] = new AdaptiveReading(scenarios[i], string.Join(", then ", judge.BestLimits), [.. Laws.Select(judge.Of)]);
            Judgement ours = readings[i].Ours;
            string line = Invariant(
                $"{Stopwatch.GetElapsedTime(start).TotalSeconds,6:0.0} s  {scenarios[i].Key,-60} {ours.Goodput:0.00} {ours.Latency:0.00}");
            await TextWriter.Synchronized(progress).WriteLineAsync(line);
        });
        await new PageRun(page, output).WriteAsync(AdaptivePage.Render(seeds, readings, PageFile.Read(page)));
    }
}
