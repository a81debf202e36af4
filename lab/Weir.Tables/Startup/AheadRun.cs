using Weir.Cli.Kit.Pages;
using Weir.Lab.Suites.Checking;
using static System.FormattableString;

namespace Weir.Tables.Startup;

/// <summary>
/// What <c>warm-up</c> and <c>cold-start</c> have in common: builds that are compiled ahead of time, each arm in fresh processes, in turns, and the page.
/// </summary>
/// <typeparam name="TArm">What is measured.</typeparam>
/// <typeparam name="TReading">What one process measures.</typeparam>
/// <param name="output">Where the tables go.</param>
/// <param name="progress">Where progress and errors go.</param>
internal sealed class AheadRun<TArm, TReading>(TextWriter output, TextWriter progress)
{
    /// <summary>What compiles what ahead of time, as the beginning of a sentence.</summary>
    public required string Compiles { get; init; }

    /// <summary>All arms, and the work of each.</summary>
    public required IEnumerable<(TArm Arm, string Work)> Arms { get; init; }

    /// <summary>Reads what a process printed.</summary>
    public required Func<string, TReading> Parse { get; init; }

    /// <summary>Makes the builds of the selected arms, or says why there are none.</summary>
    public required Func<ColdBuilds, string, TArm[], Task<(AheadPlan<TReading>? Plan, string? Failure)>> BuildAsync { get; init; }

    /// <summary>Runs and gives the exit code: 1 for wrong input, 3 when a process fails.</summary>
    public async Task<int> RunAsync(int rounds, IReadOnlyList<string> only, FileInfo? page)
    {
        TArm[] arms = [.. Arms.Where(arm => only.Count == 0 || only.Contains(arm.Work)).Select(static arm => arm.Arm)];
        string? project = ColdBuilds.Project();
        string? refusal = arms.Length == 0 ? $"--only knows {string.Join("; ", Arms.Select(static arm => arm.Work).Distinct())}."
            : PageFile.FindProblem(page)
                ?? (project is null ? $"{Compiles} ahead of time, so it must be run inside of the repository." : null);
        if (refusal is not null)
        {
            await progress.WriteLineAsync(refusal);
            return 1;
        }

        using ColdBuilds builds = new();
        await progress.WriteLineAsync("compiling ahead of time");
        (AheadPlan<TReading>? plan, string? failure) = await BuildAsync(builds, project!, arms);
        if (plan is null)
        {
            await progress.WriteLineAsync(failure);
            return 3;
        }

        PageRun run = new(page, output);
        Dictionary<string, List<TReading>>? readings =
            await ProcessTurns.MeasureAsync([.. plan.Starts.Keys], rounds, key => plan.Starts[key](), Parse, progress);
        if (readings is null)
        {
            return 3;
        }

        await run.WriteAsync(plan.Render(run.Provenance(Invariant($"{rounds} rounds")), readings, run.Existing));
        return 0;
    }
}
