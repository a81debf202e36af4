using Weir.Cli.Profiling;

namespace Weir.Cli.Commands.Run;

/// <summary>The <c>run</c> command: measures one workload with some workers.</summary>
internal static class RunCommand
{
    public const string Name = "run";

    public const string Description = "Measures a workload or your code. It reports rate, latency percentiles, fairness and cost with N workers.";

    public static Command Create(WeirHost host)
    {
        Argument<string?> workload = WorkloadArgument.Create();
        RunOptionSet options = new(isScale: false, rounds: 10, duration: "1.2s");
        TextOption processes = TextOption.Of("--processes", null, "N", "Spread the rounds over this many processes. Default 1").Rare();
        Option<bool> profile = new("--profile")
        {
            Description = "Run one more round under a profiler, which counts in no figure: hot methods, allocations by type, and a flame graph on the page",
        };
        OutputOptionSet outputs = new(Threshold.OfOperations);
        KeepOption keep = new();
        Command command = new(Name, Description) { workload };
        options.AddTo(command);
        command.AddAll(processes, profile);
        outputs.AddTo(command);
        keep.AddTo(command);
        command.SetAction(async (parsed, _) =>
        {
            string[] arguments = [.. parsed.Tokens.Select(static t => t.Value)];
            RunSettings settings = options.Read(parsed, parsed.GetValue(workload)) with { IsProfiled = IsProfiled(parsed.GetValue(profile), host) };
            int spread = processes.Find(parsed)?.WholeNumber(1, 64) ?? 1;
            OutputSettings output = outputs.Read(parsed);
            keep.Read(parsed, host);
            ResultFile result = await RunProgress.RunAsync(
                host, output.Quiet, p => MeasureAsync(new WorkerArms(host, "run", arguments), settings, spread, host, p));
            int code = ResultOutput.Write(result, output, host);
            keep.Keep(parsed, result, host);
            return code;
        });
        return command;
    }

    private static bool IsProfiled(bool isAsked, WeirHost host) => isAsked && ProfiledRound.ForbiddenBy(host.Variable) is { } variable
        ? throw new BadInputException($"--profile needs the runtime's diagnostics, which {variable}=0 switches off: run it without that variable.")
        : isAsked;

    // Several things take turns, so that disturbances of the machine affect all equally. Each has its own process, because one may need much memory.
    private static async Task<ResultFile> MeasureAsync(WorkerArms arms, RunSettings settings, int processes, WeirHost host, RunProgress progress)
    {
        if (settings.Workloads.Count == 1 || processes > 1)
        {
            int rounds = (settings.Rounds + processes - 1) / processes;
            return await arms.MeasureAsync(
                [.. settings.Workloads.Select(w => settings.Order(w, settings.Workers[0], rounds))],
                settings with { Run = settings.Run with { Rounds = rounds * processes } },
                processes,
                progress);
        }

        ArmTurns turns = new(host, settings.Rounds, mostProcesses: 1, progress);
        WorkerOrder[] orders = [.. settings.Workloads.Select(w => settings.Order(w, settings.Workers[0], rounds: 1))];
        ResultFile result = await arms.MeasureInTurnsAsync(orders, settings, turns.MeasureAsync);
        return result.With(turns.Profiles);
    }
}
