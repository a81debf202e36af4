using Weir.Cli.Profiling;

namespace Weir.Cli.Processes;

/// <summary>What a measuring process is to do: some rounds of one workload with some workers.</summary>
internal sealed record WorkerOrder
{
    public required WorkloadSpec Workload { get; init; }

    /// <summary>How it is run, but for the parameters of the workload. What it calls the workload is the name of the arm in the result.</summary>
    public required WorkerRunSpec Run { get; init; }

    /// <summary>Whether there is one more round after the last, under a profiler.</summary>
    public bool IsProfiled { get; init; }

    public string Name => Run.Workload;

    public int Workers => Run.Workers;

    /// <summary>Environment variables that its process gets besides those of this one.</summary>
    public IReadOnlyDictionary<string, string> Variables() =>
        new Dictionary<string, string>(CollectorMode.Variables(Workload.Collector).Concat(IsProfiled ? ProfiledRound.Variables : []));

    /// <summary>The same, run in another way.</summary>
    public WorkerOrder With(Func<WorkerRunSpec, WorkerRunSpec> change) => this with { Run = change(Run) };

    /// <summary>How it is run, as the measuring core has it.</summary>
    public WorkerRunSpec Spec() => Run with { Parameters = Workload.Parameters() };
}
