using System.CommandLine;
using Weir.Cli.Hosting;
using Weir.Cli.Measuring;
using Weir.Cli.Processes;
using Weir.Cli.Progress;
using Weir.Cli.Report.Output;
using Weir.Lab.Results;

namespace Weir.Cli.Commands.Run;

/// <summary>The <c>run</c> command: measures one workload with some workers.</summary>
internal static class RunCommand
{
    public static Command Create(CliHost host)
    {
        Argument<string?> workload = WorkloadArgument.Create();
        RunOptionSet options = new(isScale: false, rounds: 10, duration: "1.2s");
        OutputOptionSet outputs = new();
        Command command = new("run", "Measures a workload or your own code with N workers: rate, latency percentiles, fairness and cost.") { workload };
        options.AddTo(command);
        outputs.AddTo(command);
        command.SetAction(async (parsed, _) =>
        {
            RunSettings settings = options.Read(parsed, parsed.GetValue(workload));
            OutputSettings output = outputs.Read(parsed);
            WorkerArms arms = new(host, "run", [.. parsed.Tokens.Select(static t => t.Value)]);
            ResultFile result = await RunProgress.RunAsync(host, output.Quiet, p => MeasureAsync(arms, settings, host, p)).ConfigureAwait(false);
            return ResultOutput.Write(result, output, host);
        });
        return command;
    }

    // Several things take turns, so that what the machine does meanwhile meets all alike. A process each: one may need much memory.
    private static Task<ResultFile> MeasureAsync(WorkerArms arms, RunSettings settings, CliHost host, RunProgress progress) => settings.Workloads is [var only]
        ? arms.MeasureAsync([settings.Order(only, settings.Workers[0], settings.Rounds)], settings, turns: 1, progress)
        : arms.MeasureInTurnsAsync(
            [.. settings.Workloads.Select(w => settings.Order(w, settings.Workers[0], rounds: 1))],
            settings,
            o => new ArmTurns(host, settings.Rounds, mostProcesses: 1, progress).MeasureAsync(o));
}
