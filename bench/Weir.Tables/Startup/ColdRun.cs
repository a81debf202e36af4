namespace Weir.Tables.Startup;

/// <summary>What <c>cold-start</c> does: the first call of a process that has nothing else in it, of each build, in turns; and the page.</summary>
internal sealed class ColdRun(TextWriter output, TextWriter progress)
{
    /// <summary>The command's name.</summary>
    public const string Verb = "cold-start";

    /// <summary>Measures, and writes the page.</summary>
    public async Task RunAsync(int rounds, IReadOnlyList<string> only, FileInfo? page, CancellationToken cancellationToken)
    {
        ColdArm[] arms = Selection.Of(ColdArms.All, only, static arm => arm.Work);
        PageFile.Check(page);
        using ColdBuilds made = await ColdBuilds.PublishAsync(progress, cancellationToken);
        IReadOnlyList<ColdBuild> builds = made.All();
        PageRun run = new(page, output);
        Dictionary<string, List<ColdReading>> readings = await ProcessTurns.MeasureAsync(
            [.. from build in builds from arm in arms select (build.KeyOf(arm.Key), ColdBuilds.Start(["exec", build.Program, arm.Key], cancellationToken))],
            rounds,
            ColdReading.Parse,
            progress);
        await run.WriteAsync(ColdPage.Render(run.Provenance(Invariant($"{rounds} rounds")), builds, arms, readings, run.Existing));
    }
}
