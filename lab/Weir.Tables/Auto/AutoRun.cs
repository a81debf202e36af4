using System.Diagnostics;
using Weir.Cli.Kit.Pages;
using Weir.Lab.Suites.Workloads;
using Weir.Lab.Trials;
using Weir.Lab.Work;
using static System.FormattableString;

namespace Weir.Tables.Auto;

/// <summary>What <c>auto</c> does: measure each kind of work on all runtimes, print the page, and write it.</summary>
/// <param name="output">Where the page goes.</param>
/// <param name="progress">Where progress and errors go.</param>
internal sealed class AutoRun(TextWriter output, TextWriter progress)
{
    private static readonly TimeSpan Window = TimeSpan.FromMilliseconds(200);
    private static readonly TimeSpan WarmUp = TimeSpan.FromMilliseconds(400);

    /// <summary>Runs and gives the exit code: 1 for wrong input, 3 when a runtime gave wrong outcomes, 130 when it was stopped.</summary>
    public async Task<int> RunAsync(int rounds, IReadOnlyList<string> only, FileInfo? page, CancellationToken cancellationToken)
    {
        IReadOnlyList<AutoWork> all =
            [.. AutoWork.All, .. BuiltIns.All.Where(static row => AutoWork.All.All(work => work.Name != row.Name)).Select(AutoWork.Of)];
        if (only.FirstOrDefault(name => all.All(work => work.Name != name)) is { } unknown)
        {
            await progress.WriteLineAsync($"--only must be among {string.Join(", ", all.Select(static work => work.Name))}; it is '{unknown}'.");
            return 1;
        }

        if (PageFile.FindProblem(page) is { } refusal)
        {
            await progress.WriteLineAsync(refusal);
            return 1;
        }

        long start = Stopwatch.GetTimestamp();
        PageRun run = new(page, output);
        List<AutoFinding> findings = [];
        double stepsPerSecond = CalibratedSpin.MeasureStepsPerSecond();
        try
        {
            foreach (AutoWork work in only.Count == 0 ? AutoWork.All : all.Where(work => only.Contains(work.Name)))
            {
                await progress.WriteLineAsync(Invariant($"{Stopwatch.GetElapsedTime(start).TotalSeconds,6:0.0} s  {work.Name}"));
                await work.SetupAsync(stepsPerSecond, cancellationToken);
                await using AutoArms arms = AutoArms.Of(work);
                TrialOptions options = new() { Trials = rounds, MinimumWindow = Window, LongestWarmUp = WarmUp };
                TrialReport report = await new TrialRunner(options).RunAsync(arms.Arms, cancellationToken);
                if (report.IsPartial)
                {
                    await progress.WriteLineAsync("Stopped; nothing was written.");
                    return 130;
                }

                findings.Add(new AutoFinding(work, report, arms.Decisions));
                await work.CleanupAsync();
            }
        }
        catch (WrongResultException exception)
        {
            await progress.WriteLineAsync(exception.Message);
            return 3;
        }

        string provenance = run.Provenance(
            Invariant($"{rounds} rounds of windows of {Window.TotalMilliseconds:0} ms; {Stopwatch.GetElapsedTime(start).TotalSeconds:0} s in all"));
        await run.WriteAsync(AutoPage.Render(provenance, findings));
        if (page is not null)
        {
            await progress.WriteLineAsync($"Wrote {page}.");
        }

        return 0;
    }
}
