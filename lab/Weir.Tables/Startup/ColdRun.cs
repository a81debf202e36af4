using Weir.Cli.Processes;
using Weir.Lab.ColdStart;

namespace Weir.Tables.Startup;

/// <summary>What <c>cold-start</c> does: the first call of a process that has nothing else in it, of each build, in turns; and the page.</summary>
/// <param name="output">Where the tables go.</param>
/// <param name="progress">Where progress and errors go.</param>
internal sealed class ColdRun(TextWriter output, TextWriter progress)
{
    /// <summary>The command's name.</summary>
    public const string Verb = "cold-start";

    /// <summary>Runs and gives the exit code: 1 for wrong input, 3 when a process fails.</summary>
    public Task<int> RunAsync(int rounds, IReadOnlyList<string> only, FileInfo? page, CancellationToken cancellationToken) =>
        new AheadRun<ColdArm, ColdReading>(output, progress)
        {
            Compiles = $"{Verb} compiles its program",
            Arms = ColdArms.All.Select(static arm => (arm, arm.Work)),
            Parse = ColdReading.Parse,
            BuildAsync = (made, project, arms) => BuildAsync(made, project, arms, cancellationToken),
        }.RunAsync(rounds, only, page);

    private static async Task<(AheadPlan<ColdReading>? Plan, string? Failure)> BuildAsync(
        ColdBuilds made, string project, ColdArm[] arms, CancellationToken cancellationToken)
    {
        (IReadOnlyList<ColdBuild> builds, string? failure) = await made.MakeAsync(project, cancellationToken);
        if (failure is not null)
        {
            return (null, failure);
        }

        OrderedDictionary<string, Func<Task<(int ExitCode, string Output)>>> starts = [];
        foreach ((ColdBuild build, ColdArm arm) in builds.SelectMany(build => arms.Select(arm => (build, arm))))
        {
            starts.Add(build.KeyOf(arm.Key), () => ColdBuilds.RunAsync(["exec", build.Program, arm.Key], cancellationToken));
        }

        return (new(starts, (provenance, readings, page) => ColdPage.Render(provenance, builds, arms, readings, page)), null);
    }
}
