using System.CommandLine;
using Weir.Cli.History;
using Weir.Cli.Hosting;
using Weir.Cli.Measuring;
using Weir.Cli.Processes;
using Weir.Cli.Programs;
using Weir.Cli.Progress;
using Weir.Cli.Report.Output;
using Weir.Lab.Results;
using Weir.Lab.Statistics;

namespace Weir.Cli.Commands.Run;

/// <summary>The <c>run</c> command: measures one workload with some workers.</summary>
internal static class RunCommand
{
    public static Command Create(CliHost host)
    {
        Argument<string?> workload = WorkloadArgument.Create();
        RunOptionSet options = new(isScale: false, rounds: 10, duration: "1.2s");
        ProgramOptionSet programs = new(options);
        OutputOptionSet outputs = new();
        KeepOption keep = new();
        Command command = new("run", "Measures a workload or your own code with N workers: rate, latency percentiles, fairness and cost. With --command any program: its time, processor time and memory.") { workload };
        options.AddTo(command);
        programs.AddTo(command);
        outputs.AddTo(command);
        keep.AddTo(command);
        command.SetAction(async (parsed, _) =>
        {
            string[] arguments = [.. parsed.Tokens.Select(static t => t.Value)];
            ProgramSettings? own = programs.AreGiven(parsed) ? programs.Read(parsed, [.. outputs.Options, .. keep.Options]) : null;
            RunSettings? settings = own is null ? options.Read(parsed, parsed.GetValue(workload)) : null;
            OutputSettings output = outputs.Read(parsed);
            keep.Read(parsed);
            ResultFile result = await RunProgress.RunAsync(host, output.Quiet, p => own is not null
                ? ProgramArms.MeasureAsync(host, "run", arguments, own, new ComparisonOptions(), p)
                : MeasureAsync(new WorkerArms(host, "run", arguments), settings!, host, p)).ConfigureAwait(false);
            int code = ResultOutput.Write(result, output, host);
            keep.Keep(parsed, result, host);
            return code;
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
