using Weir.Lab.Suites.Peers.Dataflow;

namespace Weir.Tables.BlocksGrid;

/// <summary>What <c>blocks-grid</c> does: measure the grid, cell after cell, and write the page.</summary>
internal sealed class BlocksGridRun(TextWriter output, TextWriter progress)
{
    /// <summary>The command's name.</summary>
    public const string Verb = "blocks-grid";

    /// <summary>
    /// A cell of 50,000 messages is left out if the same with 2,000 takes longer with one of the libraries: 10 us a message. Each message is then a wake-up,
    /// whatever their number.
    /// </summary>
    private static readonly TimeSpan LongestOfFewer = TimeSpan.FromMilliseconds(20);

    private const int Many = 50_000;

    private static readonly TimeSpan Window = TimeSpan.FromMilliseconds(15);

    // Of a cell, and of the first one of a block, whose code is new.
    private static readonly TimeSpan WarmUp = TimeSpan.FromMilliseconds(40);
    private static readonly TimeSpan FirstWarmUp = TimeSpan.FromSeconds(1);

    /// <summary>The cells that patterns select.</summary>
    /// <exception cref="BadInputException">There is none.</exception>
    public static GridCell[] Select(IReadOnlyList<string> filter) =>
        Selection.Matching(GridCell.All, filter, static cell => cell.Name, "its block, its options and its messages");

    /// <summary>Measures, and writes the page.</summary>
    /// <param name="rounds">How often each arm of a cell is measured.</param>
    /// <param name="filter">The patterns that select cells; none for all.</param>
    /// <param name="page">The page.</param>
    /// <param name="blocks">The page of blocks, whose section of the grid has its worst and its best rows.</param>
    /// <param name="cancellationToken">Stops it.</param>
    public async Task RunAsync(int rounds, IReadOnlyList<string> filter, FileInfo? page, FileInfo? blocks, CancellationToken cancellationToken)
    {
        GridCell[] cells = Select(filter);
        PageFile.Check(page);
        PageFile.Check(blocks);
        PageRun run = new(page, output);
        long start = Stopwatch.GetTimestamp();
        List<GridReading> readings = [];
        List<(GridCell Cell, string Why)> left = [];
        TimeSpan slowest = default;
        GridCell? before = null;
        foreach (GridCell cell in cells)
        {
            string time = Invariant($"{Stopwatch.GetElapsedTime(start).TotalSeconds,6:0.0} s  {cell.Name,-80} ");
            if (cell.Messages == Many && before is { Messages: < Many } && cell == before with { Messages = Many } && slowest > LongestOfFewer)
            {
                left.Add((cell, Invariant($"2,000 messages take longer than {LongestOfFewer.TotalMilliseconds:0} ms")));
                await progress.WriteLineAsync($"{time}left out");
                continue;
            }

            GridArm[] arms =
            [
                new("the platform", cell, InBoxGrid.RunAsync),
                new("Weir", cell, WeirGrid.RunAsync),
                new("channels", cell, ChannelGrid.RunAsync),
            ];
            try
            {
                foreach (GridArm arm in arms)
                {
                    await arm.WarmUpAsync(before?.Block == cell.Block ? WarmUp : FirstWarmUp, Window, cancellationToken);
                }

                GridReading reading = new(cell, await TurnsAsync(arms, rounds, cancellationToken));
                readings.Add(reading);
                before = cell;
                slowest = TimeSpan.FromMicroseconds(Math.Max(reading.Theirs.Nanoseconds, reading.Ours.Nanoseconds) * cell.Sent / 1e3);
                await progress.WriteLineAsync($"{time}{Format.Ratio(reading.Ratio.Median)}");
            }
            catch (GridFailedException failure)
            {
                left.Add((cell, failure.Message));
                await progress.WriteLineAsync($"{time}{failure.Message}\n{failure.InnerException}");
            }
        }

        string extent = Invariant($"{rounds} rounds; {Stopwatch.GetElapsedTime(start).TotalSeconds:0} s in all");
        string provenance = run.Provenance(extent);
        await run.WriteAsync(BlocksGridPage.Render(provenance, readings, left, run.Existing));
        if (blocks is not null)
        {
            ResultPage result = new(PageFile.Read(blocks), SuiteSet.Dataflow);
            result.ReplaceGrid(BlocksGridPage.Extract(provenance, readings, left));
            await File.WriteAllTextAsync(blocks.FullName, result.Render(), CancellationToken.None);
        }
    }

    // Each round begins with the next one, and every second goes backwards.
    private static async Task<IReadOnlyList<GridRound>> TurnsAsync(GridArm[] arms, int rounds, CancellationToken cancellationToken)
    {
        List<GridRound> samples = [];
        GridSample[] taken = new GridSample[arms.Length];
        for (int round = 0; round < rounds; round++)
        {
            for (int i = 0; i < arms.Length; i++)
            {
                int arm = (round + (round % 2 == 0 ? i : arms.Length - i)) % arms.Length;
                taken[arm] = await arms[arm].MeasureAsync(cancellationToken);
            }

            samples.Add(new GridRound(taken[0], taken[1], taken[2]));
        }

        return samples;
    }
}
