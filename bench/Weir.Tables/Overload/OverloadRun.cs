using Weir.Overload;

namespace Weir.Tables.Overload;

/// <summary>What <c>overload</c> does: builds the program, starts a process of clients and of a server for each cell, and writes the page.</summary>
internal sealed class OverloadRun(TextWriter output, TextWriter progress)
{
    /// <summary>The command's name.</summary>
    public const string Verb = "overload";

    private const string Program = "Weir.Overload";
    private const double Warm = 8;
    private const double Usual = 3;
    private static readonly TimeSpan Longest = TimeSpan.FromMinutes(1);

    private string _program = "";

    /// <summary>Measures sections, and writes the page after each.</summary>
    public async Task RunAsync(int seconds, int minutes, IReadOnlyList<string> only, FileInfo? page, CancellationToken stop)
    {
        PageSection[] sections = Selection.Of(OverloadPage.Sections, only, static s => s.Key);
        PageFile.Check(page);
        _program = await ColdBuilds.BuildAsync(Verb, Program, stop);
        await SectionPage.MeasureAsync(
            page,
            output,
            sections.Select(static s => s.Key),
            async key =>
            {
                Setting[] cells = [.. CellsOf(key, seconds, minutes)];
                List<Reading> readings = [];
                foreach (Setting cell in cells)
                {
                    readings.Add(await MeasureAsync(cell, stop));
                    await progress.WriteLineAsync(Invariant($"{key}, {readings.Count} of {cells.Length}: {OverloadPage.Line(readings[^1])}"));
                }

                string extent = key == OverloadPage.Changes ? Invariant($"{minutes} minutes of Weir") : Invariant($"{seconds} s of each load");
                return (OverloadPage.Table(key, readings), extent);
            },
            OverloadPage.Render);
    }

    // The arms take turns at each load, so that what the machine does meanwhile hits all of them.
    private static IEnumerable<Setting> CellsOf(string section, int seconds, int minutes)
    {
        Setting cell = new() { Warm = Warm, Seconds = seconds, Load = Usual, Notices = true };
        return section switch
        {
            OverloadPage.Loads =>
                from notices in (bool[])[true, false]
                from load in (double[])[0.5, 1, 2, 3, 10]
                from arm in Arms.All
                select cell with { Arm = arm, Load = load, Notices = notices },
            OverloadPage.Knee =>
                from load in (double[])[0.5, 1, 3, 10]
                from arm in Arms.All
                select cell with { Arm = arm, Load = load, Server = ServerKind.Knee },
            OverloadPage.Lines =>
                from notices in (bool[])[true, false]
                from arm in (string[])[Arms.Weir, Arms.NoBudget, Arms.NoDeadlines]
                select cell with { Arm = arm, Notices = notices },
            _ =>
                from arm in Arms.All
                let length = Change.Period * Math.Max(1, Math.Round(60 * (arm == Arms.Weir ? minutes : minutes / 5.0) / Change.Period))
                select cell with { Arm = arm, Changes = true, Warm = 0, Seconds = length },
        };
    }

    // A process that does not end is an error that says which.
    private async Task<Reading> MeasureAsync(Setting cell, CancellationToken stop)
    {
        using CancellationTokenSource end = CancellationTokenSource.CreateLinkedTokenSource(stop);
        end.CancelAfter(Longest + TimeSpan.FromSeconds(cell.Warm + cell.Seconds));
        try
        {
            ChildEnd child = await ColdBuilds.Start([_program, "load", .. cell.ToArguments()], end.Token)();
            return child.Code == 0
                ? Reading.Parse(child.Output)
                : throw new WrongResultException(cell.Arm, $"{cell.Arm}, {cell.Load} times the capacity, failed with exit code {child.Code}.");
        }
        catch (OperationCanceledException) when (!stop.IsCancellationRequested)
        {
            throw new TimeoutException(Invariant($"{cell.Arm}, {cell.Load} times the capacity, did not end."));
        }
    }
}
