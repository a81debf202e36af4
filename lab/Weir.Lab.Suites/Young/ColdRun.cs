using Weir.Lab.ColdStart;
using Weir.Lab.Suites.Figures;
using Weir.Lab.Suites.Page;
using static System.FormattableString;

namespace Weir.Lab.Suites.Young;

/// <summary>What <c>cold-start</c> does: the first call of a process that has nothing else in it, of each build, in turns; and the page.</summary>
/// <param name="output">Where the tables go.</param>
/// <param name="progress">Where progress and errors go.</param>
internal sealed class ColdRun(TextWriter output, TextWriter progress)
{
    /// <summary>The command's name.</summary>
    public const string Verb = "cold-start";

    /// <summary>Runs and gives the exit code: 1 for wrong input, 3 when a process fails.</summary>
    public async Task<int> RunAsync(int rounds, IReadOnlyList<string> only, FileInfo? page, CancellationToken cancellationToken)
    {
        ColdArm[] arms = [.. ColdArms.All.Where(arm => only.Count == 0 || only.Contains(arm.Work))];
        if (arms.Length == 0)
        {
            await progress.WriteLineAsync($"--only knows {string.Join("; ", ColdArms.All.Select(static arm => arm.Work).Distinct())}.");
            return 1;
        }

        if (PageFile.FindProblem(page) is { } refusal)
        {
            await progress.WriteLineAsync(refusal);
            return 1;
        }

        if (ColdBuilds.Project() is not { } project)
        {
            await progress.WriteLineAsync($"{Verb} compiles its program ahead of time, so it must be run inside of the repository.");
            return 1;
        }

        using ColdBuilds made = new();
        await progress.WriteLineAsync("compiling ahead of time");
        (IReadOnlyList<ColdBuild> builds, string? failure) = await made.MakeAsync(project, cancellationToken);
        if (failure is not null)
        {
            await progress.WriteLineAsync(failure);
            return 3;
        }

        double noiseBefore = Surroundings.Noise();
        Dictionary<string, (ColdBuild Build, ColdArm Arm)> all =
            builds.SelectMany(build => arms.Select(arm => (build, arm))).ToDictionary(static pair => pair.build.KeyOf(pair.arm.Key));
        Dictionary<string, List<ColdReading>>? readings = await ProcessTurns.MeasureAsync(
            [.. all.Keys], rounds, key => ColdBuilds.RunAsync(["exec", all[key].Build.Program, all[key].Arm.Key], cancellationToken), ColdReading.Parse,
            progress);
        if (readings is null)
        {
            return 3;
        }

        string provenance = Surroundings.Provenance(Surroundings.Commit(), "", noiseBefore, Surroundings.Noise(), Invariant($"{rounds} rounds"));
        string text = ColdPage.Render(provenance, builds, arms, readings, PageFile.Read(page));
        await output.WriteLineAsync(text);
        if (page is not null)
        {
            await File.WriteAllTextAsync(page.FullName, text, cancellationToken);
        }

        return 0;
    }
}
