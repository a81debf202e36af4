using Weir.Cli.Commands.Load.Arms;
using Weir.Lab.Report.Tables;
using Weir.Lab.Report.Writing;

namespace Weir.Cli.Commands.Load;

/// <summary>One run of the command: sets up the work and the arms, measures them, and writes the report.</summary>
internal sealed class LoadRun(LoadSettings settings, OutputSettings output, IReadOnlyList<string> arguments, WeirHost host)
{
    public async Task<int> RunAsync()
    {
        DateTimeOffset startedAt = host.Load.Clock.GetLocalNow();
        long start = Stopwatch.GetTimestamp();
#if DEBUG
        host.Say("this is a Debug build, so the figures mean little. Run it with -c Release.");
#endif
        ItemWorkload workload = settings.CreateWorkload();
        try
        {
            return await MeasureAsync(await SetUpAsync(workload), startedAt, start);
        }
        finally
        {
            await workload.CleanupAsync();
        }
    }

    private static void WriteDetails(ResultFile result, TextWriter output, TextStyle style)
    {
        output.WriteLine(LoadAnswer.Of(result));
        output.WriteLine();
        ResultText.Write(result, output, style);
    }

    private async Task<LoadWork> SetUpAsync(ItemWorkload workload)
    {
        WorkerGroup all = new(WorkerRunSpec.DefaultGroup, Math.Max(settings.Concurrency, settings.ParallelSize));
        await workload.SetupAsync(new WorkerRunSpec { Workload = workload.Name, Groups = [all] }, host.Stop);
        await workload.BeginRoundAsync(host.Stop);
        string text = await workload.DescribeAsync(host.Stop) ?? settings.Row!.Text;
        LoadWork work = new(workload.Call, workload.Expect, text);
        return settings.FailRate > 0 ? work.Failing(settings.FailRate) : work;
    }

    private async Task<int> MeasureAsync(LoadWork work, DateTimeOffset startedAt, long start)
    {
        await using LoadArms arms = LoadArms.Create(settings, work, host.CreateRuntime);
        TrialOptions options = host.Load.Trials with { Trials = settings.Trials };
        Task<TrialReport> Run(ITrialObserver observer) =>
            new TrialRunner(options, observer).RunAsync([.. arms.Arms.Select(static arm => arm.Arm)], host.Stop);
        TrialReport trials = await (settings.Watch
            ? LoadWatch.RunAsync(host, [.. arms.Arms.Select(static arm => arm.Watched!)], Run)
            : TrialProgress.RunAsync(host, output.Quiet, Run));

        ResultFile result = LoadResults.Of(settings, work.Description, arms.Arms, trials, startedAt, arguments) with
        {
            Seconds = Stopwatch.GetElapsedTime(start).TotalSeconds,
        };
        return ResultOutput.Write(result, output, host, settings.Details ? WriteDetails : LoadScreen.Write);
    }
}
