namespace Weir.Lab.Workers;

/// <summary>One measured window with all workers. The round is the unit of all statistics.</summary>
internal sealed record WorkerRound
{
    /// <summary>The number of the round, from 1.</summary>
    public required int Round { get; init; }

    /// <summary>When the window began, in seconds since the run began.</summary>
    public required double StartSecond { get; init; }

    /// <summary>How long the window was.</summary>
    public required double Seconds { get; init; }

    /// <summary>How many operations all workers began in it and completed: those whose latencies are in the percentiles.</summary>
    public required long Operations { get; init; }

    /// <summary>
    /// Operations per second: what all workers did in the window divided by its length, where an operation that was under way at the window's beginning or
    /// end counts by the share of its time that lies in the window. With a rate, the starts of the window by the time in which they were done. Of short
    /// operations of one worker it is without the loop's part: see <see cref="Overhead"/>.
    /// </summary>
    public required double Rate { get; init; }

    /// <summary>How many operations were completed before, in and after the window.</summary>
    public required long Executed { get; init; }

    /// <summary>How many operations failed.</summary>
    public required long Failures { get; init; }

    /// <summary>The failures by the type of what was thrown, the most frequent first.</summary>
    public IReadOnlyDictionary<string, long> FailureKinds { get; init; } = new Dictionary<string, long>();

    public required IReadOnlyList<GroupResult> Groups { get; init; }

    public required IReadOnlyList<WorkerCount> Workers { get; init; }

    /// <summary>How long operations took, from when they began: the service time. <see langword="null"/> when latency was not measured.</summary>
    public LatencySummary? Service { get; init; }

    /// <summary>With a rate, how long operations took from when they should have begun: what a user would have waited.</summary>
    public LatencySummary? Response { get; init; }

    /// <summary>Of what takes turns, how long whole batches took; <see langword="null"/> where latency was not measured, or of each operation.</summary>
    public LatencyHistogram? BatchTimes { get; init; }

    /// <summary>How much was under way at once.</summary>
    public required InFlightDepth InFlight { get; init; }

    /// <summary>With a rate, how well it was kept.</summary>
    public PacingResult? Pacing { get; init; }

    /// <summary>What the process used in the window.</summary>
    public required ResourceUse Resources { get; init; }

    /// <summary>
    /// Bytes that all threads allocated for an operation, without what the lab itself allocates: its threads' bytes are subtracted, and those of an idle
    /// window with as many workers.
    /// </summary>
    public required double BytesPerOperation { get; init; }

    /// <summary>
    /// What the worker's loop adds to each operation, and whether <see cref="Rate"/> is without it; <see langword="null"/> where it is not measured, as for
    /// operations of two microseconds and more.
    /// </summary>
    public LoopOverhead? Overhead { get; init; }

    /// <summary>The slices of the window.</summary>
    public IReadOnlyList<TimelinePoint> Timeline { get; init; } = [];

    /// <summary>What the canary found just before the round.</summary>
    public CanaryReading Canary { get; init; }

    /// <summary>What was wrong with the round; empty when nothing.</summary>
    public IReadOnlyList<string> Troubles { get; init; } = [];

    /// <summary>Whether the run was stopped in this round.</summary>
    public bool IsPartial { get; init; }

    /// <summary>The share of the round in which the compiler was at work.</summary>
    public double CompilingShare => Seconds > 0 ? Resources.CompilationTime.TotalSeconds / Seconds : 0;

    /// <summary>How many processors were busy on average.</summary>
    public double Cores => Seconds > 0 ? Resources.Cpu.TotalSeconds / Seconds : 0;
}
