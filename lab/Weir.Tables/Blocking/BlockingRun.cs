using System.Reflection;
using Weir.Cli.Kit.Pages;
using Weir.Lab.Processes;
using Weir.Tables.Startup;
using static System.FormattableString;

namespace Weir.Tables.Blocking;

/// <summary>What <c>blocking-table</c> does: each arm in a fresh process, in turns, and the page.</summary>
/// <param name="output">Where the tables go.</param>
/// <param name="progress">Where progress and errors go.</param>
/// <param name="program">The program that answers <see cref="Verb"/>.</param>
internal sealed class BlockingRun(TextWriter output, TextWriter progress, Assembly program)
{
    /// <summary>The command's name.</summary>
    public const string Verb = "blocking-table";

    /// <summary>Measures an arm in this process and writes the reading.</summary>
    public static async Task<int> MeasureHereAsync(string key, TextWriter output, TextWriter errors)
    {
        if (BlockingArms.All.FirstOrDefault(arm => arm.Key == key) is not { } arm)
        {
            await errors.WriteLineAsync($"No arm is called {key}; they are {string.Join("; ", BlockingArms.All.Select(static arm => arm.Key))}.");
            return 1;
        }

        BlockingReading reading = await BlockingReading.MeasureAsync(arm);
        await output.WriteLineAsync(reading.ToString());
        return 0;
    }

    /// <summary>Runs and gives the exit code: 1 for wrong input, 3 when an arm's process fails.</summary>
    public async Task<int> RunAsync(int rounds, IReadOnlyList<string> only, FileInfo? page, CancellationToken cancellationToken)
    {
        BlockingArm[] arms = [.. BlockingArms.All.Where(arm => only.Count == 0 || only.Contains(arm.Work))];
        string? refusal = arms.Length == 0
            ? $"--only knows {string.Join("; ", BlockingArms.All.Select(static arm => arm.Work).Distinct())}."
            : PageFile.FindProblem(page);
        if (refusal is not null)
        {
            await progress.WriteLineAsync(refusal);
            return 1;
        }

        PageRun run = new(page, output);
        Dictionary<string, List<BlockingReading>>? readings = await ProcessTurns.MeasureAsync(
            [.. arms.Select(static arm => arm.Key)],
            rounds,
            key => OwnProgram.RunAsync(program, [Verb, WarmUpRun.Arm, key], cancellationToken),
            BlockingReading.Parse,
            progress);
        if (readings is null)
        {
            return 3;
        }

        await run.WriteAsync(BlockingPage.Render(run.Provenance(Invariant($"{rounds} rounds")), arms, readings, run.Existing));
        return 0;
    }
}
