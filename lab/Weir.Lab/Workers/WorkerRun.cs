namespace Weir.Lab.Workers;

/// <summary>What a run of workers found.</summary>
internal sealed record WorkerRun
{
    /// <summary>How the run was done.</summary>
    public required WorkerRunSpec Spec { get; init; }

    /// <summary>How many processors the control group of the process may use; <see langword="null"/> when it is not limited, or has none.</summary>
    public double? CpuQuota { get; init; }

    /// <summary>How many processors .NET counts.</summary>
    public int Cores { get; init; } = Environment.ProcessorCount;

    /// <summary>When it began.</summary>
    public required DateTimeOffset Started { get; init; }

    /// <summary>The measured rounds, in order.</summary>
    public required IReadOnlyList<WorkerRound> Rounds { get; init; }

    /// <summary>What the canary found after the last round; what it found before and between stands in the rounds.</summary>
    public CanaryReading CanaryAfter { get; init; }

    /// <summary>How many rounds were done again because the canary was disturbed around them.</summary>
    public int Repeats { get; init; }

    /// <summary>How many rounds were done again because code was still compiled in them.</summary>
    public int ColdRounds { get; init; }

    /// <summary>Service times of all rounds together; <see langword="null"/> when latency was not measured.</summary>
    public LatencySummary? Service { get; init; }

    /// <summary>With a rate, response times of all rounds together.</summary>
    public LatencySummary? Response { get; init; }

    /// <summary>What one reading of the clock costs here, in nanoseconds. Timing adds it to each timed operation.</summary>
    public double ClockCostNanoseconds { get; init; }

    /// <summary>Whether the warm-up ended because the rate was steady, not because its time was over.</summary>
    public bool WasSteady { get; init; }

    /// <summary>How many bytes more were reachable after the last round than before the first, each time after a full collection.</summary>
    public long HeapGrowth { get; init; }

    /// <summary>How many operations were executed between these two moments.</summary>
    public long ExecutedBetweenHeaps { get; init; }

    /// <summary>How many operations failed in the warm-up.</summary>
    public long EarlyFailures { get; init; }

    /// <summary>The first of these failures; <see langword="null"/> if there are none.</summary>
    public Exception? EarlyError { get; init; }

    /// <summary>Why the figures are invalid; empty if they are valid.</summary>
    public IReadOnlyList<string> Troubles { get; init; } = [];

    /// <summary>Of the <see cref="Troubles"/> those of the run as a whole: not those of its rounds, and not that nothing was completed.</summary>
    public IReadOnlyList<RunRemark> SharedTroubles { get; init; } = [];

    /// <summary>What to keep in mind when reading the figures; empty when nothing.</summary>
    public IReadOnlyList<RunRemark> Warnings { get; init; } = [];

    /// <summary>Whether the run was stopped before all rounds were done.</summary>
    public bool IsPartial { get; init; }

    /// <summary>Whether the run was given up because a worker stood still. The last round says in what.</summary>
    public bool IsStuck { get; init; }

    /// <summary>
    /// Whether the workload could give back what it had taken. Not so when it did not come back from its clean-up, or from what the run was stopped in, and
    /// was left behind.
    /// </summary>
    public bool IsCleanedUp { get; init; } = true;

    /// <summary>Operations per second of each round that was complete, in order.</summary>
    public IReadOnlyList<double> Rates => [.. Rounds.Where(static r => !r.IsPartial).Select(static r => r.Rate)];
}
