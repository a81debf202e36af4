using System.CommandLine;
using Weir.Cli.Hosting;
using Weir.Cli.Processes;
using Weir.Cli.Progress;
using Weir.Cli.Results;
using Weir.Cli.Results.Writing;

namespace Weir.Cli.Run;

/// <summary>The <c>run</c> command: measures one workload with some workers.</summary>
internal static class RunCommand
{
    public static Command Create(CliHost host)
    {
        Argument<string?> workload = WorkloadArgument();
        RunOptionSet options = new(isScale: false, rounds: 10, duration: "1.2s");
        OutputOptionSet outputs = new();
        Command command = new("run", "Measures a workload with N workers: rate, latency percentiles, fairness and cost.") { workload };
        options.AddTo(command);
        outputs.AddTo(command);
        command.SetAction(async (parsed, _) =>
        {
            RunKnobs knobs = options.Read(parsed, parsed.GetValue(workload));
            OutputSettings output = outputs.Read(parsed);
            WorkerOrder order = knobs.Order(knobs.Workload, knobs.Workers[0], knobs.Rounds);
            WorkerArms arms = new(host, "run", [.. parsed.Tokens.Select(static t => t.Value)]);
            ResultFile result = await RunProgress.RunAsync(host, output.Quiet, p => arms.MeasureAsync([order], knobs, turns: 1, p)).ConfigureAwait(false);
            return ResultOutput.Write(result, output, host);
        });
        return command;
    }

    /// <summary>The argument of all commands over workloads.</summary>
    public static Argument<string?> WorkloadArgument() => new("WORKLOAD")
    {
        Description = $"A built-in workload; absent with --assembly. {Help}",
        Arity = ArgumentArity.ZeroOrOne,
    };

    /// <summary>The workloads, for the help.</summary>
    public static string Help =>
        "Workloads:\n" + string.Join('\n', Workloads.WorkloadCatalog.Texts.Select(static w => $"  {w.Name,-14} {w.Text}"));
}
