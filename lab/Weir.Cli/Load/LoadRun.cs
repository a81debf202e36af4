using System.Diagnostics;
using Weir.Cli.Hosting;
using Weir.Cli.Load.Arms;
using Weir.Cli.Load.Progress;
using Weir.Cli.Load.Report;
using Weir.Cli.Load.Watch;
using Weir.Cli.Load.Work;
using Weir.Cli.Results;
using Weir.Cli.Results.Writing;
using Weir.Lab.Trials;

namespace Weir.Cli.Load;

/// <summary>One run of the command: sets up the work and the arms, measures them, and writes the report.</summary>
internal sealed class LoadRun(LoadKnobs knobs, OutputSettings output, IReadOnlyList<string> arguments, CliHost host)
{
    public async Task<int> RunAsync()
    {
        DateTimeOffset startedAt = host.Load.Clock.GetLocalNow();
        long start = Stopwatch.GetTimestamp();
#if DEBUG
        host.Error.WriteLine("weir: this is a Debug build, so the figures mean little. Run it with -c Release.");
#endif
        using LoadWork work = await LoadWork.CreateAsync(knobs, host.Stop).ConfigureAwait(false);
        LoadArms arms = LoadArms.Create(knobs, work, host.Load.CreateRuntime);
        await using (arms.ConfigureAwait(false))
        {
            TrialOptions options = host.Load.Trials with { Trials = knobs.Trials };
            Task<TrialReport> Run(ITrialObserver observer) => new TrialRunner(options, observer).RunAsync([.. arms.Arms.Select(static arm => arm.Arm)], host.Stop);
            TrialReport trials = await (knobs.Watch
                ? LoadWatch.RunAsync(host, [.. arms.Arms.Select(static arm => arm.Watched!)], Run)
                : LoadProgress.RunAsync(host, output.Quiet, Run)).ConfigureAwait(false);

            LoadReport report = new(knobs, work.Description, startedAt, arms.Arms, trials);
            if (knobs.Json)
            {
                LoadJson.Write(report, host.Out);
            }
            else
            {
                LoadText.Write(report, host);
            }

            ResultFile result = LoadExport.Result(report, arguments, Stopwatch.GetElapsedTime(start).TotalSeconds);
            return ResultOutput.ExportWithCode(result, output, host);
        }
    }
}
