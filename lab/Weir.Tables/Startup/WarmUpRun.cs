using System.Reflection;
using Weir.Cli.Processes;
using Weir.Lab.Processes;

namespace Weir.Tables.Startup;

/// <summary>What <c>warm-up</c> does: each arm in a fresh process, in turns, and the page.</summary>
/// <param name="output">Where the tables go.</param>
/// <param name="progress">Where progress and errors go.</param>
/// <param name="program">The program that answers <see cref="Verb"/>.</param>
internal sealed class WarmUpRun(TextWriter output, TextWriter progress, Assembly program)
{
    /// <summary>The command's name.</summary>
    public const string Verb = "warm-up";

    /// <summary>Before the key of the arm that a process is started to measure.</summary>
    public const string Arm = "--arm";

    /// <summary>Measures an arm in this process and writes the reading.</summary>
    public static async Task<int> MeasureHereAsync(string key, TextWriter output, TextWriter errors)
    {
        WarmUpArm? arm = WarmUpArms.All.FirstOrDefault(arm => arm.Key == key);
        if (arm is null)
        {
            await errors.WriteLineAsync($"No arm is called {key}; they are {string.Join("; ", WarmUpArms.All.Select(static arm => arm.Key))}.");
            return 1;
        }

        WarmUpReading reading = await WarmUpReading.MeasureAsync(arm.Prepare(), (long)arm.Items * (arm.Items + 1));
        await output.WriteLineAsync(reading.ToString());
        return 0;
    }

    /// <summary>Runs and gives the exit code: 1 for wrong input, 3 when an arm's process fails.</summary>
    public Task<int> RunAsync(int rounds, IReadOnlyList<string> only, FileInfo? page, CancellationToken cancellationToken) =>
        new AheadRun<WarmUpArm, WarmUpReading>(output, progress)
        {
            Compiles = $"{Verb} compiles Weir",
            Arms = WarmUpArms.All.Select(static arm => (arm, arm.Work)),
            Parse = WarmUpReading.Parse,
            BuildAsync = (builds, project, arms) => BuildAsync(builds, project, arms, cancellationToken),
        }.RunAsync(rounds, only, page);

    private async Task<(AheadPlan<WarmUpReading>? Plan, string? Failure)> BuildAsync(
        ColdBuilds builds, string project, WarmUpArm[] arms, CancellationToken cancellationToken)
    {
        (string? ahead, string? failure) = await builds.MakeCopyAsync(project, program.Location, cancellationToken);
        if (ahead is null)
        {
            return (null, failure);
        }

        // The same arms once more, as works of their own: in the copy whose Weir is compiled ahead.
        OrderedDictionary<string, Func<Task<(int ExitCode, string Output)>>> starts = [];
        foreach (WarmUpArm arm in arms)
        {
            starts.Add(arm.Key, () => OwnProgram.RunAsync(program, [Verb, Arm, arm.Key], cancellationToken));
        }

        foreach (WarmUpArm arm in arms)
        {
            starts.Add(arm.InCopy.Key, () => ColdBuilds.RunAsync(["exec", ahead, Verb, Arm, arm.Key], cancellationToken));
        }

        WarmUpArm[] all = [.. arms, .. arms.Select(static arm => arm.InCopy)];
        return (new(starts, (provenance, readings, page) => WarmUpPage.Render(provenance, all, readings, page)), null);
    }
}
