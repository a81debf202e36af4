using System.CommandLine;
using Weir.Cli.Hosting;
using Weir.Cli.Measuring;
using Weir.Cli.Processes;
using Weir.Cli.Progress;
using Weir.Cli.Report.Output;
using Weir.Cli.Results;

namespace Weir.Cli.Commands.Run;

/// <summary>The <c>run</c> command: measures one workload with some workers.</summary>
internal static class RunCommand
{
    public static Command Create(CliHost host)
    {
        Argument<string?> workload = WorkloadArgument.Create();
        RunOptionSet options = new(isScale: false, rounds: 10, duration: "1.2s");
        OutputOptionSet outputs = new();
        Command command = new("run", "Measures a workload with N workers: rate, latency percentiles, fairness and cost.") { workload };
        options.AddTo(command);
        outputs.AddTo(command);
        command.SetAction(async (parsed, _) =>
        {
            RunSettings settings = options.Read(parsed, parsed.GetValue(workload));
            OutputSettings output = outputs.Read(parsed);
            WorkerOrder order = settings.Order(settings.Workload, settings.Workers[0], settings.Rounds);
            WorkerArms arms = new(host, "run", [.. parsed.Tokens.Select(static t => t.Value)]);
            ResultFile result = await RunProgress.RunAsync(host, output.Quiet, p => arms.MeasureAsync([order], settings, turns: 1, p)).ConfigureAwait(false);
            return ResultOutput.Write(result, output, host);
        });
        return command;
    }
}
