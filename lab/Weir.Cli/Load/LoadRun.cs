using Weir.Cli.Hosting;
using Weir.Cli.Load.Arms;
using Weir.Cli.Load.Progress;
using Weir.Cli.Load.Report;
using Weir.Cli.Load.Work;
using Weir.Lab.Trials;

namespace Weir.Cli.Load;

/// <summary>One run of the command: sets up the work and the arms, measures them, and writes the report.</summary>
internal sealed class LoadRun(LoadKnobs knobs, CliHost host)
{
    public async Task<int> RunAsync()
    {
        DateTimeOffset startedAt = host.Load.Clock.GetLocalNow();
#if DEBUG
        host.Error.WriteLine("weir: this is a Debug build, so the figures mean little. Run it with -c Release.");
#endif
        using LoadWork work = await LoadWork.CreateAsync(knobs, host.Stop).ConfigureAwait(false);
        LoadArms arms = LoadArms.Create(knobs, work, host.Load.CreateRuntime);
        await using (arms.ConfigureAwait(false))
        {
            TrialOptions options = host.Load.Trials with { Trials = knobs.Trials };
            TrialReport trials = await LoadProgress.RunAsync(
                host,
                observer => new TrialRunner(options, observer).RunAsync([.. arms.Arms.Select(static arm => arm.Arm)], host.Stop)).ConfigureAwait(false);

            LoadReport report = new(knobs, work.Description, startedAt, arms.Arms, trials);
            if (knobs.Json)
            {
                LoadJson.Write(report, host.Out);
            }
            else
            {
                LoadText.Write(report, host);
            }

            if (!report.IsPartial)
            {
                return ExitCode.Success;
            }

            host.Error.WriteLine("weir: stopped; what was done until then is reported as partial.");
            return ExitCode.Interrupted;
        }
    }
}
