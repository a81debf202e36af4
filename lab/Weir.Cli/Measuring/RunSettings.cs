namespace Weir.Cli.Measuring;

/// <summary>The checked settings that all commands over workloads share.</summary>
internal sealed record RunSettings
{
    /// <summary>What is measured: each thing with every combination of the varied parameters.</summary>
    public required IReadOnlyList<IReadOnlyList<WorkloadSpec>> Subjects { get; init; }

    /// <summary>The first of them, which is the only one unless several methods are given or parameters varied.</summary>
    public WorkloadSpec Workload => Subjects[0][0];

    /// <summary>All of them.</summary>
    public IReadOnlyList<WorkloadSpec> Workloads => [.. Subjects.SelectMany(static s => s)];

    /// <summary>The numbers of workers; one unless the command measures a scale.</summary>
    public required IReadOnlyList<int> Workers { get; init; }

    /// <summary>Named groups in place of a number of workers.</summary>
    public IReadOnlyList<WorkerGroup>? Groups { get; init; }

    /// <summary>How each arm is run, but for its name and its workers.</summary>
    public required WorkerRunSpec Run { get; init; }

    public int Rounds => Run.Rounds;

    /// <summary>Whether each arm makes one more round, under a profiler.</summary>
    public bool IsProfiled { get; init; }

    /// <summary>The order for a number of workers.</summary>
    public WorkerOrder Order(WorkloadSpec workload, int workers, int rounds) => new()
    {
        Workload = workload,
        Run = Run with { Workload = workload.Label, Groups = Groups ?? [new WorkerGroup(WorkerRunSpec.DefaultGroup, workers)], Rounds = rounds },
        IsProfiled = IsProfiled,
    };
}
