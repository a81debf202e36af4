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

    public double? RatePerSecond { get; init; }

    public int? MaxInFlight { get; init; }

    public int? MinThreads { get; init; }

    /// <summary>The share of operations that may fail.</summary>
    public double MostFailures { get; init; }

    public required TimeSpan Duration { get; init; }

    public required int Rounds { get; init; }

    public required int Seed { get; init; }

    /// <summary>How long the end of an operation is waited for.</summary>
    public TimeSpan Timeout { get; init; } = TimeSpan.FromSeconds(20);

    /// <summary>Whether each arm makes one more round, under a profiler.</summary>
    public bool IsProfiled { get; init; }

    /// <summary>The order for a number of workers.</summary>
    public WorkerOrder Order(WorkloadSpec workload, int workers, int rounds) => new()
    {
        Workload = workload,
        Name = workload.Label,
        Groups = Groups ?? [new WorkerGroup(WorkerRunSpec.DefaultGroup, workers)],
        RatePerSecond = RatePerSecond,
        MaxInFlight = MaxInFlight,
        MinThreads = MinThreads,
        MostFailures = MostFailures,
        Seconds = Duration.TotalSeconds,
        Rounds = rounds,
        TimeoutSeconds = Timeout.TotalSeconds,
        Seed = Seed,
        IsProfiled = IsProfiled,
    };
}
