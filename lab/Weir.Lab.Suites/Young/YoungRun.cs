using System.Reflection;
using Weir.Lab.Processes;
using Weir.Lab.Resources;
using Weir.Lab.Statistics;
using Weir.Lab.Suites.Figures;
using Weir.Lab.Suites.Page;
using static System.FormattableString;

namespace Weir.Lab.Suites.Young;

/// <summary>What <c>young</c> does: each arm in a fresh process, in turns, and the page.</summary>
/// <param name="output">Where the tables go.</param>
/// <param name="progress">Where progress and errors go.</param>
/// <param name="program">The program that answers <see cref="Verb"/>.</param>
internal sealed class YoungRun(TextWriter output, TextWriter progress, Assembly program)
{
    /// <summary>The command's name.</summary>
    public const string Verb = "young";

    /// <summary>Before the key of the arm that a process is started to measure.</summary>
    public const string Arm = "--arm";

    /// <summary>Measures an arm in this process and writes the reading.</summary>
    public static async Task<int> MeasureHereAsync(string key, TextWriter output, TextWriter errors)
    {
        YoungArm? arm = YoungArms.All.FirstOrDefault(arm => arm.Key == key);
        if (arm is null)
        {
            await errors.WriteLineAsync($"No arm is called {key}; they are {string.Join("; ", YoungArms.All.Select(static arm => arm.Key))}.");
            return 1;
        }

        YoungReading reading = await YoungReading.MeasureAsync(arm.Prepare(), (long)arm.Items * (arm.Items + 1));
        await output.WriteLineAsync(reading.ToString());
        return 0;
    }

    /// <summary>Runs and gives the exit code: 1 for wrong input, 3 when an arm's process fails.</summary>
    public async Task<int> RunAsync(int rounds, IReadOnlyList<string> only, FileInfo? page, CancellationToken cancellationToken)
    {
        YoungArm[] arms = [.. YoungArms.All.Where(arm => only.Count == 0 || only.Contains(arm.Work))];
        if (arms.Length == 0)
        {
            await progress.WriteLineAsync($"--only knows {string.Join("; ", YoungArms.All.Select(static arm => arm.Work).Distinct())}.");
            return 1;
        }

        if (PageFile.FindProblem(page) is { } refusal)
        {
            await progress.WriteLineAsync(refusal);
            return 1;
        }

        if (ColdBuilds.Project() is not { } project)
        {
            await progress.WriteLineAsync($"{Verb} compiles Weir ahead of time, so it must be run inside of the repository.");
            return 1;
        }

        using ColdBuilds builds = new();
        await progress.WriteLineAsync("compiling ahead of time");
        (string? ahead, string? failure) = await builds.MakeCopyAsync(project, program.Location, cancellationToken);
        if (ahead is null)
        {
            await progress.WriteLineAsync(failure);
            return 3;
        }

        // The same arms once more, as works of their own: in the copy whose Weir is compiled ahead.
        Dictionary<string, Func<Task<(int ExitCode, string Output)>>> starts = arms.ToDictionary(
            static arm => arm.Key, arm => new Func<Task<(int, string)>>(() => OwnProgram.RunAsync(program, [Verb, Arm, arm.Key], cancellationToken)));
        foreach (YoungArm arm in arms)
        {
            starts.Add(arm.InCopy.Key, () => ColdBuilds.RunAsync(["exec", ahead, Verb, Arm, arm.Key], cancellationToken));
        }

        arms = [.. arms, .. arms.Select(static arm => arm.InCopy)];
        double noiseBefore = Surroundings.Noise();
        Dictionary<string, List<YoungReading>>? readings = await ProcessTurns.MeasureAsync(
            [.. arms.Select(static arm => arm.Key)], rounds, key => starts[key](), YoungReading.Parse, progress);
        if (readings is null)
        {
            return 3;
        }

        double noiseAfter = Surroundings.Noise();
        string provenance = Surroundings.Provenance(
            Surroundings.Commit(), "", noiseBefore, noiseAfter, Invariant($"{rounds} rounds"));
        string text = YoungPage.Render(provenance, arms, readings, PageFile.Read(page));
        await output.WriteLineAsync(text);
        if (page is not null)
        {
            await File.WriteAllTextAsync(page.FullName, text, cancellationToken);
        }

        return 0;
    }
}
