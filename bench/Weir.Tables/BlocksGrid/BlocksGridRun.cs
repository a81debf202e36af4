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
    public async Task RunAsync(int rounds, IReadOnlyList<string> filter, FileInfo? page, CancellationToken cancellationToken)
    {
        GridCell[] cells = Select(filter);
        PageFile.Check(page);
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

            GridArm theirs = new("the platform", cell, InBoxGrid.RunAsync);
            GridArm ours = new("Weir", cell, WeirGrid.RunAsync);
            try
            {
                foreach (GridArm arm in (GridArm[])[theirs, ours])
                {
                    await arm.WarmUpAsync(before?.Block == cell.Block ? WarmUp : FirstWarmUp, Window, cancellationToken);
                }

                GridReading reading = new(cell, await TurnsAsync(theirs, ours, rounds, cancellationToken));
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
        await run.WriteAsync(BlocksGridPage.Render(run.Provenance(extent), readings, left, run.Existing));
    }

    // Each round begins with the other one.
    private static async Task<IReadOnlyList<(GridSample Theirs, GridSample Ours)>> TurnsAsync(
        GridArm theirs, GridArm ours, int rounds, CancellationToken cancellationToken)
    {
        List<(GridSample Theirs, GridSample Ours)> samples = [];
        for (int round = 0; round < rounds; round++)
        {
            GridSample first = await (round % 2 == 0 ? theirs : ours).MeasureAsync(cancellationToken);
            GridSample second = await (round % 2 == 0 ? ours : theirs).MeasureAsync(cancellationToken);
            samples.Add(round % 2 == 0 ? (first, second) : (second, first));
        }

        return samples;
    }
}
