namespace Weir.Cli.Processes;

/// <summary>What a measuring process is to do: some rounds of one workload with some workers.</summary>
internal sealed record WorkerOrder
{
    public required WorkloadSpec Workload { get; init; }

    /// <summary>The name of the arm in the result.</summary>
    public required string Name { get; init; }

    public required IReadOnlyList<WorkerGroup> Groups { get; init; }

    public double? RatePerSecond { get; init; }

    public int? MaxInFlight { get; init; }

    public int? MinThreads { get; init; }

    /// <summary>The share of operations that may fail.</summary>
    public double MostFailures { get; init; }

    public required double Seconds { get; init; }

    public required int Rounds { get; init; }

    public int Seed { get; init; } = 1;

    /// <summary>How long the warm-up is at most, unless the code is still being compiled then.</summary>
    public double WarmUpSeconds { get; init; } = 3;

    /// <summary>How often a round may be measured again because the canary was disturbed.</summary>
    public int MostRepeats { get; init; } = 3;

    /// <summary>How long the end of an operation is waited for.</summary>
    public double TimeoutSeconds { get; init; } = 20;

    /// <summary>Whether the process stays and waits before each round until it is its turn.</summary>
    public bool TakesTurns { get; init; }

    /// <summary>Whether the rate of one worker is without what the measuring loop adds.</summary>
    public bool SubtractsOverhead { get; init; } = true;

    /// <summary>Whether there is one more round after the last, under a profiler.</summary>
    public bool IsProfiled { get; init; }

    public int Workers => Groups.Sum(static g => g.Workers);

    /// <summary>The same as the measuring core has it.</summary>
    public WorkerRunSpec Spec() => new()
    {
        Workload = Name,
        Groups = Groups,
        RatePerSecond = RatePerSecond,
        MaxInFlight = MaxInFlight,
        MinThreads = MinThreads,
        MostFailures = MostFailures,
        Duration = TimeSpan.FromSeconds(Seconds),
        Rounds = Rounds,
        MostRepeats = MostRepeats,
        LongestWarmUp = TimeSpan.FromSeconds(WarmUpSeconds),
        DrainLimit = TimeSpan.FromSeconds(TimeoutSeconds),
        Seed = Seed,
        TakesTurns = TakesTurns,
        SubtractsOverhead = SubtractsOverhead,
        Parameters = Workload.Parameters(),
    };
}
