namespace Weir.Tables.FewItems;

/// <summary>What <c>few-items</c> does: measure the grid, cell after cell, and write the page.</summary>
internal sealed class FewItemsRun(TextWriter output, TextWriter progress)
{
    /// <summary>The command's name.</summary>
    public const string Verb = "few-items";

    // Of one cell. Those whose runs last a second take longer, because a median needs some rounds.
    private static readonly TimeSpan Budget = TimeSpan.FromSeconds(1);

    // New code runs at one speed for half a second before it reaches its final one.
    private static readonly TimeSpan WarmUp = TimeSpan.FromMilliseconds(600);

    /// <summary>The cells that patterns select, without those whose runs take too long.</summary>
    /// <exception cref="BadInputException">There is none.</exception>
    public static FewItemsCell[] Select(IReadOnlyList<string> filter) => Selection.Matching(
        [.. FewItemsCell.All.Where(static cell => !cell.TakesTooLong), .. FewItemsCell.Threads], filter, static cell => cell.Name, "its items, work, source and limit");

    /// <summary>Measures, and writes the page.</summary>
    public async Task RunAsync(int rounds, IReadOnlyList<string> filter, FileInfo? page, CancellationToken cancellationToken)
    {
        FewItemsCell[] cells = Select(filter);
        PageFile.Check(page);
        PageRun run = new(page, output);
        long start = Stopwatch.GetTimestamp();
        double stepsPerSecond = CalibratedSpin.MeasureStepsPerSecond();
        List<FewItemsReading> readings = [];
        foreach (FewItemsCell like in cells.DistinctBy(static cell => (cell.Work, cell.Source, cell.OnThreads)))
        {
            await new FewItemsArms(like with { Count = 20, Limit = 8 }, stepsPerSecond).WarmUpAsync(WarmUp);
        }

        foreach (FewItemsCell cell in cells)
        {
            FewItemsReading reading = await new FewItemsArms(cell, stepsPerSecond).MeasureAsync(rounds, Budget, cancellationToken);
            readings.Add(reading);
            await progress.WriteLineAsync(Invariant($"{Stopwatch.GetElapsedTime(start).TotalSeconds,6:0.0} s  {cell.Name,-24} {reading.Ratio:0.00}"));
        }

        string extent = Invariant($"up to {rounds} rounds a row; {Stopwatch.GetElapsedTime(start).TotalSeconds:0} s in all");
        await run.WriteAsync(FewItemsPage.Render(run.Provenance(extent), readings, run.Existing));
    }
}
