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

/// <summary>What one worker did in a window.</summary>
/// <param name="Group">The name of its group.</param>
/// <param name="Worker">Its number among all, from 0.</param>
/// <param name="Operations">How many operations it began in the window and completed.</param>
/// <param name="Seconds">How long the window was; where each worker does a number of operations, how long its own took.</param>
/// <param name="LongestGap">The longest time in which it completed nothing.</param>
internal sealed record WorkerCount(string Group, int Worker, long Operations, double Seconds, TimeSpan LongestGap)
{
    /// <summary>How many operations it did in the window, with the part that lies in it of those that were under way at its beginning and at its end.</summary>
    public double Work { get; init; } = Operations;

    /// <summary>Operations per second: <see cref="Work"/> divided by <see cref="Seconds"/>.</summary>
    public double Rate => Seconds > 0 ? Work / Seconds : 0;
}

/// <summary>What the workers of a group did in a window.</summary>
/// <param name="Name">The name of the group.</param>
/// <param name="Workers">How many workers it has.</param>
/// <param name="Operations">How many operations they began in the window and completed.</param>
/// <param name="Rate">Operations per second: the sum of the workers' rates.</param>
/// <param name="SampleEvery">Of how many operations one was timed: 1 for all.</param>
/// <param name="Fairness">How evenly the operations are spread over the workers.</param>
internal sealed record GroupResult(string Name, int Workers, long Operations, double Rate, int SampleEvery, Fairness Fairness)
{
    /// <summary>How long an operation takes in the shortest batch of them, in nanoseconds; 0 when none ended in the window.</summary>
    public double Quickest { get; init; }
}

/// <summary>What happened in one slice of a round.</summary>
/// <param name="Second">When the slice ended, in seconds since the window began.</param>
/// <param name="Rate">Operations per second in the slice.</param>
/// <param name="GcPause">How long collections paused the process in the slice.</param>
/// <param name="PoolThreads">How many threads the pool had at its end.</param>
/// <param name="PoolPending">How many work items waited for a thread of the pool.</param>
/// <param name="InFlight">How much was under way, where the workload or the pacer counts it.</param>
/// <param name="Cores">How many processors the process used on average.</param>
/// <param name="ResidentBytes">How much memory the process had resident at its end.</param>
internal sealed record TimelinePoint(
    double Second, double Rate, TimeSpan GcPause, int PoolThreads, long PoolPending, long InFlight, double Cores, long ResidentBytes);

/// <summary>How well a given rate was kept.</summary>
/// <param name="Offered">How many starts were due in the window.</param>
/// <param name="Dropped">How many were dropped, because too many operations had not ended.</param>
/// <param name="LateStarts">How many operations began more than a millisecond after they were due.</param>
/// <param name="Unfinished">How many had not ended when the wait for them was given up. Their latencies are missing.</param>
/// <param name="LatenessP99">By how much the generator itself was late, in nanoseconds: 99 % of all starts became due at most so late.</param>
internal sealed record PacingResult(long Offered, long Dropped, long LateStarts, long Unfinished, long LatenessP99);

/// <summary>
/// What the worker's loop adds to each operation: the time of an operation that does nothing, of the same shape (synchronous or not, with a result or
/// without), in the same loop and batches, measured in the same run.
/// </summary>
/// <param name="Nanoseconds">
/// Nanoseconds for each operation: the lower quartile of short windows of one worker, because whatever disturbs one makes it longer, and rather too little is
/// subtracted than too much.
/// </param>
/// <param name="Resolution">
/// How much shorter an operation must be than nothing to be told from it: the quartiles' distance of these windows, and a quarter of the overhead at least,
/// because a processor does a part of the loop while the operation is under way.
/// </param>
internal sealed record LoopOverhead(double Nanoseconds, double Resolution)
{
    // A processor overlaps the loop with what it calls, so a difference of less than this part of it says nothing.
    private const double LeastPart = 0.25;

    /// <summary>
    /// Whether the rate is without it. Only where one synchronous worker does one operation after the other, and only where what is left can be told from
    /// nothing. Workers who wait for each other do so while another one's loop runs: there, without the loop, no more would be done.
    /// </summary>
    public bool IsSubtracted { get; init; }

    internal static LoopOverhead Of(IReadOnlyCollection<double> nanoseconds)
    {
        double[] sorted = [.. nanoseconds.Order()];
        double quartile = sorted[sorted.Length / 4];
        return new LoopOverhead(quartile, Math.Max(sorted[sorted.Length * 3 / 4] - quartile, LeastPart * quartile));
    }

    /// <summary>Whether operations at this rate take so long that the overhead can be subtracted.</summary>
    internal bool CanBeSubtractedFrom(double rate) => rate > 0 && (1e9 / rate) - Nanoseconds >= Resolution;

    /// <summary>The rate of operations alone, of one worker.</summary>
    internal double Without(double rate) => 1e9 / ((1e9 / rate) - Nanoseconds);
}

/// <summary>A remark on the figures of a run.</summary>
/// <param name="Cause">What it is. A run has at most one remark of each cause, and that of another run differs in its figures only.</param>
/// <param name="Text">One sentence, with the figures.</param>
internal sealed record RunRemark(RunCause Cause, string Text)
{
    /// <inheritdoc/>
    public override string ToString() => Text;
}

/// <summary>What a <see cref="RunRemark"/> is about.</summary>
[JsonConverter(typeof(JsonStringEnumConverter<RunCause>))]
public enum RunCause
{
    /// <summary>Code was compiled in the measured rounds.</summary>
    Compiled,

    /// <summary>The generator could not keep its rate.</summary>
    LateGenerator,

    /// <summary>Operations had not ended long after the window.</summary>
    Unfinished,

    /// <summary>Other programs were running on the machine.</summary>
    NotQuiet,

    /// <summary>Rounds were repeated, because other programs were running.</summary>
    Repeated,

    /// <summary>Rounds were repeated, because code was compiled in them.</summary>
    ColdRounds,

    /// <summary>The operation cannot be distinguished from an empty one.</summary>
    TooShort,

    /// <summary>The control group has fewer processors than .NET counts.</summary>
    CpuQuota,

    /// <summary>The hypervisor gave processor time to others.</summary>
    Steal,

    /// <summary>The processor quota of the control group was used up.</summary>
    Throttled,

    /// <summary>The rate still changed when the warm-up ended.</summary>
    NotSteady,

    /// <summary>The workload did not return, and was abandoned.</summary>
    NotCleanedUp,

    /// <summary>The generator had no processor for itself.</summary>
    BusyGenerator,

    /// <summary>Starts were dropped, because too many operations were under way.</summary>
    Dropped,

    /// <summary>Operations failed in the warm-up.</summary>
    EarlyFailures,

    /// <summary>The rate fell or rose throughout the run.</summary>
    Drift,

    /// <summary>Each operation leaves something reachable behind.</summary>
    Growth,

    /// <summary>Work waited for threads of the pool while processors were idle.</summary>
    StarvedPool,
}

/// <summary>Failures by the type of what was thrown, in words.</summary>
internal static class FailureWords
{
    private const int MostKinds = 5;

    /// <summary>The kinds with their numbers, the most frequent first.</summary>
    public static string Of(IEnumerable<KeyValuePair<string, long>> kinds)
    {
        KeyValuePair<string, long>[] all =
        [
            .. kinds.GroupBy(static k => k.Key, static k => k.Value).Select(static g => KeyValuePair.Create(g.Key, g.Sum()))
                .OrderByDescending(static k => k.Value).ThenBy(static k => k.Key, StringComparer.Ordinal),
        ];
        long others = all.Skip(MostKinds).Sum(static k => k.Value);
        return string.Join(", ", [
            .. all.Take(MostKinds).Select(static k => FormattableString.Invariant($"{k.Value:N0} {k.Key}")),
            .. others > 0 ? [FormattableString.Invariant($"{others:N0} of other types")] : Array.Empty<string>(),
        ]);
    }
}
