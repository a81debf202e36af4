namespace Weir.Lab.Workers;

/// <summary>Runs a workload with many workers: warm-up until steady, then the rounds, each with the canary before it.</summary>
/// <remarks>The rounds share the process. Things that leave something behind, such as a grown thread pool, are compared over processes.</remarks>
internal sealed class WorkerRunner
{
    private const int CanaryPieces = 40;

    /// <summary>
    /// Environment variables with which a process gets warm sooner: the runtime counts calls from the first on, and not only when no new code has been called
    /// for 100 ms. The code is compiled as without them, only earlier.
    /// </summary>
    public static IReadOnlyDictionary<string, string> ProcessVariables { get; } = new Dictionary<string, string> { [CompilerRest.DelayVariable] = "0" };

    private readonly WorkerRunSpec _spec;
    private readonly IRunObserver? _observer;
    private readonly Func<CanaryReading> _canary;

    /// <summary>Creates a runner.</summary>
    /// <param name="spec">How the run is done.</param>
    /// <param name="observer">Receives the progress of the run.</param>
    /// <exception cref="ArgumentException">A value of <paramref name="spec"/> is outside its range.</exception>
    public WorkerRunner(WorkerRunSpec spec, IRunObserver? observer = null)
        : this(spec, observer, spec?.TakesTurns == true ? static () => default : static () => Canary.Read(CanaryPieces))
    {
    }

    internal WorkerRunner(WorkerRunSpec spec, IRunObserver? observer, Func<CanaryReading> canary)
    {
        spec.Validate();
        _spec = spec;
        _observer = observer;
        _canary = canary;
    }

    /// <summary>
    /// What comes after the last round, given what runs one more window; <see langword="null"/> for nothing. The window is in no figure of the run.
    /// </summary>
    internal Func<ExtraWindow, CancellationToken, Task>? AfterRounds { get; init; }

    /// <summary>How long a call of the workload may take outside of its operations; null for <see cref="WorkerRunSpec.DrainLimit"/>.</summary>
    internal TimeSpan? CallLimit { get; init; }

    /// <summary>How long its clean-up may take; null for as long as the other calls.</summary>
    internal TimeSpan? CleanUpLimit { get; init; }

    /// <summary>Runs the workload.</summary>
    /// <param name="workload">The workload.</param>
    /// <param name="cancellationToken">Stops the run. It is not an error: the result has what was done so far, marked as partial.</param>
    /// <returns>What was measured. <see cref="WorkerRun.Troubles"/> lists everything that makes it invalid.</returns>
    /// <exception cref="ArgumentException">The operations of a group are neither all synchronous nor all asynchronous.</exception>
    /// <exception cref="TimeoutException">
    /// What prepares the workload or a round did not end within <see cref="WorkerRunSpec.DrainLimit"/>. It was left behind, and the workload is not cleaned
    /// up.
    /// </exception>
    /// <exception cref="OperationCanceledException">It was stopped before the first round.</exception>
    public async Task<WorkerRun> RunAsync(IWorkload workload, CancellationToken cancellationToken = default)
    {
        return (await RunInTurnsAsync([(this, workload)], _spec.Rounds, cancellationToken).ConfigureAwait(false))[0];
    }

    /// <summary>Runs several workloads, whose rounds take turns.</summary>
    /// <param name="arms">The workloads, each with its runner.</param>
    /// <param name="rounds">How many rounds each makes.</param>
    /// <param name="cancellationToken">Stops all runs, as it does a single one.</param>
    /// <returns>
    /// The runs, in order. One that has nothing to measure ends all, and those behind it are missing. Otherwise as <see cref="RunAsync"/>.
    /// </returns>
    internal static async Task<IReadOnlyList<WorkerRun>> RunInTurnsAsync(
        IReadOnlyList<(WorkerRunner Runner, IWorkload Workload)> arms, int rounds, CancellationToken cancellationToken)
    {
        DateTimeOffset started = DateTimeOffset.Now;
        WorkerArm[] all = [.. arms.Select(static arm => arm.Runner.ArmOf(arm.Workload))];
        await RoundRunner.RunAsync(all, rounds, cancellationToken).ConfigureAwait(false);

        // One that stands still ends the turns of the others: those are complete with fewer rounds.
        bool isShort = all.Length > 1 && !cancellationToken.IsCancellationRequested;
        return [.. all.Zip(arms).Where(static pair => pair.First.HasBegun).Select(pair => pair.Second.Runner.RunOf(pair.First, started, isShort))];
    }

    private WorkerArm ArmOf(IWorkload workload)
    {
        WorkloadCalls guard = new(workload.Name, CallLimit ?? _spec.DrainLimit, what => _observer?.Waiting(what)) { EndLimit = CleanUpLimit };
        if (_spec.MinThreads is int least)
        {
            ThreadPool.GetMinThreads(out int workers, out int ports);
            ThreadPool.SetMinThreads(Math.Max(least, workers), ports);
        }

        return new WorkerArm(_spec, workload, guard, _observer, _canary) { Extra = AfterRounds };
    }

    private WorkerRun RunOf(WorkerArm arm, DateTimeOffset started, bool isShort)
    {
        IReadOnlyList<WorkerRound> rounds = arm.Rounds;
        WorkerRun run = new()
        {
            Spec = _spec,
            CpuQuota = MachineInfo.CpuQuota(),
            Started = started,
            Rounds = rounds,
            CanaryAfter = arm.Canary,
            Repeats = arm.Repeats,
            ColdRounds = arm.ColdRounds,
            Service = LatencySummary.Merge(rounds.Select(static r => r.Service)),
            Response = LatencySummary.Merge(rounds.Select(static r => r.Response)),
            ClockCostNanoseconds = Clock.MeasureReadCost(),
            WasSteady = arm.WasSteady,
            HeapGrowth = arm.HeapGrowth,
            ExecutedBetweenHeaps = arm.Executed,
            EarlyFailures = arm.EarlyFailures,
            EarlyError = arm.EarlyError,
            IsPartial = (rounds.Count < _spec.Rounds && !arm.IsOver && !(isShort && !arm.IsStuck)) || rounds.Any(static r => r.IsPartial),
            IsStuck = arm.IsStuck,
            IsCleanedUp = !arm.HasHung,
        };
        return run with { Troubles = RunChecks.Troubles(run), SharedTroubles = RunChecks.Shared(run), Warnings = RunChecks.Warnings(run) };
    }

    /// <summary>Of operations as a window showed them, how many go between two looks at the clock.</summary>
    /// <remarks>
    /// What a look costs is in the rate, so processes that are compared must have batches of one size. The rate of a window that had few processors is too low
    /// by any factor, so the shortest batch counts. Of operations that are not alike a batch lasts four times as long as usual at most, which is no stall yet.
    /// </remarks>
    /// <param name="group">What the window showed.</param>
    /// <param name="median">The median latency, in nanoseconds; <see langword="null"/> if it was not measured.</param>
    internal static int BatchOf(GroupResult group, double? median)
    {
        const int most = 4;
        const double shortLatency = 1_000;
        int byRate = BatchOf(group.Rate > 0 ? group.Workers * 1e9 / group.Rate : 0);
        return byRate > 1 || median < shortLatency ? Math.Clamp(BatchOf(group.Quickest), byRate, most * byRate) : byRate;
    }

    /// <summary>Of operations of a given length, how many go between two looks at the clock.</summary>
    internal static int BatchOf(double nanoseconds)
    {
        // Two readings of the clock are 2 % of 2 microseconds. Shorter operations go in batches of about 10 microseconds, of which one is timed.
        const double short_ = 2_000;
        const double batch = 10_000;
        const int most = 4_096;
        return nanoseconds >= short_ || !(nanoseconds > 0)
            ? 1
            : (int)Math.Min(most, System.Numerics.BitOperations.RoundUpToPowerOf2((uint)Math.Clamp(batch / nanoseconds, 1, most)));
    }
}
