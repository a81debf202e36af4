namespace Weir.Tables.Blocking;

/// <summary>What <c>blocking-table</c> does: each arm in a fresh process, in turns, and the page.</summary>
internal sealed class BlockingRun(TextWriter output, TextWriter progress, Assembly program)
{
    /// <summary>The command's name.</summary>
    public const string Verb = "blocking-table";

    /// <summary>Measures an arm in this process and writes the reading.</summary>
    public static async Task<int> MeasureHereAsync(string key, TextWriter output)
    {
        await output.WriteLineAsync((await BlockingReading.MeasureAsync(BlockingArms.All.First(arm => arm.Key == key))).ToString());
        return 0;
    }

    /// <summary>Measures, and writes the page.</summary>
    public async Task RunAsync(int rounds, IReadOnlyList<string> only, FileInfo? page, CancellationToken cancellationToken)
    {
        BlockingArm[] arms = Selection.Of(BlockingArms.All, only, static arm => arm.Work);
        PageFile.Check(page);
        PageRun run = new(page, output);
        Dictionary<string, List<BlockingReading>> readings = await ProcessTurns.MeasureAsync(
            [.. arms.Select(arm => (arm.Key, OwnProgram.Start(program, [Verb, WarmUpRun.Arm, arm.Key], cancellationToken)))],
            rounds,
            BlockingReading.Parse,
            progress);
        await run.WriteAsync(BlockingPage.Render(run.Provenance(Invariant($"{rounds} rounds")), BlockingArms.All, readings, run.Existing));
    }
}
