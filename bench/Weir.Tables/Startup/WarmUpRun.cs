namespace Weir.Tables.Startup;

/// <summary>What <c>warm-up</c> does: each arm in a fresh process, in turns, and the page.</summary>
internal sealed class WarmUpRun(TextWriter output, TextWriter progress, Assembly program)
{
    /// <summary>The command's name.</summary>
    public const string Verb = "warm-up";

    /// <summary>Before the key of the arm that a process is started to measure.</summary>
    public const string Arm = "--arm";

    /// <summary>Measures an arm in this process and writes the reading.</summary>
    public static async Task<int> MeasureHereAsync(string key, TextWriter output)
    {
        WarmUpArm arm = WarmUpArms.All.First(arm => arm.Key == key);
        await output.WriteLineAsync((await WarmUpReading.MeasureAsync(arm.Prepare(), (long)arm.Items * (arm.Items + 1))).ToString());
        return 0;
    }

    /// <summary>Measures, and writes the page.</summary>
    public async Task RunAsync(int rounds, IReadOnlyList<string> only, FileInfo? page, CancellationToken cancellationToken)
    {
        WarmUpArm[] arms = Selection.Of(WarmUpArms.All, only, static arm => arm.Work);
        PageFile.Check(page);
        using ColdBuilds builds = await ColdBuilds.PublishAsync(progress, cancellationToken);
        string ahead = builds.CopyOf(program.Location);
        PageRun run = new(page, output);

        // The same arms once more, as works of their own: in the copy whose Weir is compiled ahead.
        Dictionary<string, List<WarmUpReading>> readings = await ProcessTurns.MeasureAsync(
            [
                .. arms.Select(arm => (arm.Key, OwnProgram.Start(program, [Verb, Arm, arm.Key], cancellationToken))),
                .. arms.Select(arm => (arm.InCopy.Key, ColdBuilds.Start(["exec", ahead, Verb, Arm, arm.Key], cancellationToken))),
            ],
            rounds,
            WarmUpReading.Parse,
            progress);
        WarmUpArm[] all = [.. arms, .. arms.Select(static arm => arm.InCopy)];
        await run.WriteAsync(WarmUpPage.Render(run.Provenance(Invariant($"{rounds} rounds")), all, readings, run.Existing));
    }
}
