namespace Weir.Lab.Measuring;

/// <summary>
/// Measures code in this process: the rate of workers and its cost, which of two things is faster, and how the rate depends on the number of workers.
/// </summary>
/// <remarks>
/// <para>
/// Each method runs the set-up of a workload, warms it up until its rate is steady and its code compiled, and then measures rounds.
/// <see cref="ResultFile.Findings"/> lists reasons to doubt the figures. An invalid measurement also returns a result, with a finding that says so.
/// </para>
/// <para>Run one measurement at a time: two at once disturb each other, in one process or in two. A Debug build measures Debug code.</para>
/// </remarks>
public static class Measure
{
    private const int RunRounds = 10;
    private const int ScaleRounds = 6;

    // With fewer pairs of rounds the test cannot reach the usual level of 1 %, whatever the difference.
    private const int LeastPairs = 8;
    private const int ComparedRounds = 48;

    /// <summary>Measures a workload.</summary>
    /// <param name="workload">The workload; for a delegate, <c>new Workload("name", Operation.Of(() => ...))</c>.</param>
    /// <param name="options">How to measure; <see langword="null"/> for the defaults, which take about fifteen seconds.</param>
    /// <param name="cancellationToken">Ends the measurement. The result then has the completed rounds and is marked as partial.</param>
    /// <returns>A result with one arm, and a round record for each round in the order in which they were measured.</returns>
    /// <exception cref="ArgumentOutOfRangeException">An option is outside its range; the message names it and the range.</exception>
    /// <exception cref="TimeoutException">A set-up did not end in time.</exception>
    /// <exception cref="OperationCanceledException">It was cancelled before the first round.</exception>
    public static Task<ResultFile> RunAsync(IWorkload workload, MeasureOptions? options = null, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(workload);
        options ??= new MeasureOptions();
        int rounds = options.RoundsOr(RunRounds, least: 1);
        WorkerRunSpec spec = options.Spec(workload.Name, options.Workers, rounds, takesTurns: false);
        return ResultOfAsync(
            "run",
            [(workload.Name, workload, spec)],
            rounds,
            async () =>
                [(await new WorkerRunner(spec, new WaitingObserver(options.Waiting)).RunAsync(workload, cancellationToken).ConfigureAwait(false), null)],
            cancellationToken);
    }

    /// <summary>Compares two workloads, which take turns in many short rounds (A B B A).</summary>
    /// <param name="baseline">The workload to compare with.</param>
    /// <param name="candidate">The workload to compare. Its name must differ from the baseline's.</param>
    /// <param name="options">How to measure both; <see langword="null"/> for the defaults, which take about fifteen seconds.</param>
    /// <param name="comparison">What counts as a difference; <see langword="null"/> for 3 % and a level of 1 %.</param>
    /// <param name="cancellationToken">Ends the measurement. The result then has the completed rounds and is marked as partial.</param>
    /// <returns>
    /// A result with two arms, the baseline first, and one record in <see cref="ResultFile.Comparisons"/> with verdict, ratio and interval; none with fewer
    /// than two rounds of each.
    /// </returns>
    /// <remarks>
    /// Both are measured in this one process, so the verdict is about this process, and includes what is special to it, such as the
    /// layout of its code. <c>weir compare</c> measures in several processes.
    /// </remarks>
    /// <exception cref="ArgumentException">The two have the same name.</exception>
    /// <exception cref="ArgumentOutOfRangeException">An option is outside its range; the message names it and the range.</exception>
    /// <exception cref="TimeoutException">A set-up did not end in time.</exception>
    /// <exception cref="OperationCanceledException">It was cancelled before the first round.</exception>
    public static async Task<ResultFile> CompareAsync(
        IWorkload baseline, IWorkload candidate, MeasureOptions? options = null, ComparisonOptions? comparison = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(baseline);
        ArgumentNullException.ThrowIfNull(candidate);
        options ??= new MeasureOptions();
        comparison ??= new ComparisonOptions();
        comparison.Validate();
        if (baseline.Name == candidate.Name)
        {
            throw new ArgumentException($"The baseline and the candidate must have different names; both are called '{baseline.Name}'.", nameof(candidate));
        }

        int rounds = options.RoundsOr(ComparedRounds, LeastPairs);
        ResultFile result = await TakingTurnsAsync(
            "compare", [(baseline, options.Workers), (candidate, options.Workers)], rounds, options, cancellationToken).ConfigureAwait(false);
        return result with
        {
            Comparisons = Comparing.All([(result.Arms[1], result.Arms[0])], comparison, interleaved: true),
            Findings = [.. result.Findings, new Finding(
                FindingLevel.Note, "Both were measured in one process; the interval does not include differences between processes.", FindingKind.Difference)],
        };
    }

    /// <summary>Measures a workload with several worker counts in turns, and fits the Universal Scalability Law.</summary>
    /// <param name="create">
    /// Creates the workload, once for each worker count. All are set up before the first round and must have the same name.
    /// </param>
    /// <param name="workers">Different numbers of workers, at least one, each 1 to 4096. A fit needs about six, starting with one.</param>
    /// <param name="options">How to measure; <see langword="null"/> for the defaults. Its workers and groups are ignored.</param>
    /// <param name="cancellationToken">Ends the measurement. The result then has the completed rounds and is marked as partial.</param>
    /// <returns>
    /// A result with an arm for each number of workers, in the order given, and one record in <see cref="ResultFile.Fits"/>, which states whether the fit
    /// must not be used.
    /// </returns>
    /// <exception cref="ArgumentException">There is no worker count, or one is given twice.</exception>
    /// <exception cref="ArgumentOutOfRangeException">An option is outside its range; the message names it and the range.</exception>
    /// <exception cref="TimeoutException">A set-up did not end in time.</exception>
    /// <exception cref="OperationCanceledException">It was cancelled before the first round.</exception>
    public static async Task<ResultFile> ScaleAsync(
        Func<IWorkload> create, IReadOnlyList<int> workers, MeasureOptions? options = null, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(create);
        ArgumentNullException.ThrowIfNull(workers);
        if (workers.Count == 0 || workers.Distinct().Count() != workers.Count)
        {
            throw new ArgumentException("There must be at least one worker count, and none twice.", nameof(workers));
        }

        options = (options ?? new MeasureOptions()) with { Groups = null };
        int rounds = options.RoundsOr(ScaleRounds, least: 1);
        return ScalingFits.Fitted(
            await TakingTurnsAsync("scale", [.. workers.Select(n => (create(), n))], rounds, options, cancellationToken).ConfigureAwait(false));
    }

    private static Task<ResultFile> TakingTurnsAsync(
        string command, IReadOnlyList<(IWorkload Workload, int Workers)> arms, int rounds, MeasureOptions options, CancellationToken stop)
    {
        (string Name, IWorkload Workload, WorkerRunSpec Spec)[] known =
            [.. arms.Select(a => (a.Workload.Name, a.Workload, options.Spec(a.Workload.Name, a.Workers, rounds, takesTurns: true)))];

        // All or none: what the loop adds cannot be subtracted from several workers.
        bool areSingle = known.All(static k => k.Spec.Workers == 1);
        known = [.. known.Select(k => (k.Name, k.Workload, k.Spec with { SubtractsOverhead = areSingle }))];
        return ResultOfAsync(
            command,
            known,
            rounds,
            () => TurnRuns.MeasureAsync([.. known.Select(static k => (k.Workload, k.Spec))], rounds, options.Waiting, stop, options.CallLimit),
            stop);
    }

    private static async Task<ResultFile> ResultOfAsync(
        string command,
        (string Name, IWorkload Workload, WorkerRunSpec Spec)[] arms,
        int rounds,
        Func<Task<IReadOnlyList<(WorkerRun Run, IReadOnlyList<int>? Order)>>> measure,
        CancellationToken stop)
    {
        DateTimeOffset startedAt = DateTimeOffset.Now;
        long start = Stopwatch.GetTimestamp();
        using MachineLock? alone = MachineLock.TryTake();
        IReadOnlyList<(WorkerRun Run, IReadOnlyList<int>? Order)> runs = await measure().ConfigureAwait(false);
        ArmRecord[] records = [.. arms.Select((arm, i) => Arm(arm.Name, arm.Spec, i < runs.Count ? runs[i].Run : null, i < runs.Count ? runs[i].Order : null))];
        int done = records.Sum(static a => a.Rounds.Count(static r => !r.Partial));
        if (done == 0)
        {
            stop.ThrowIfCancellationRequested();
        }

        return ResultFile.Here(command, [], string.Join(" and ", arms.Select(static a => a.Name).Distinct()), "operations", startedAt) with
        {
            Seconds = Stopwatch.GetElapsedTime(start).TotalSeconds,
            Partial = done < rounds * arms.Length,
            Settings = SettingTexts.Of(arms[0].Spec, rounds, isolated: false),
            Arms = records,
            Findings =
                [
                    .. Finding.OtherMeasurement(alone), .. RunRecords.Problems(records),
                    .. Finding.EachOnce(runs.SelectMany(static r => RunRecords.Findings(r.Run))),
                ],
        };
    }

    private static ArmRecord Arm(string name, WorkerRunSpec spec, WorkerRun? run, IReadOnlyList<int>? order) => new()
    {
        Name = name,
        Workers = spec.Workers,
        Settings = new Dictionary<string, string> { ["knobs"] = spec.ParameterHash },
        Rounds = run is null
            ? []
            : [.. RunRecords.Rounds(run).Select((r, i) => r with { Order = order is null ? i + 1 : i < order.Count ? order[i] : order.Count + 1 })],
    };

    private sealed class WaitingObserver(Action<string>? waiting) : IRunObserver
    {
        public void Waiting(string what) => waiting?.Invoke(what);
    }
}

/// <summary>Options for measuring from code. Immutable.</summary>
public sealed record MeasureOptions
{
    /// <summary>The number of workers. Each starts its next operation when the last one has ended.</summary>
    /// <value>1 to 4096. The default is the number of processors.</value>
    public int Workers { get; init; } = Environment.ProcessorCount;

    /// <summary>
    /// Named groups instead of <see cref="Workers"/>, for a workload whose workers do not all do the same. Each worker finds its group in
    /// <see cref="WorkerContext.Group"/>. Cannot be used where the number of workers varies.
    /// </summary>
    /// <value>Different names, each with at least one worker. <see langword="null"/>, the default, for one group.</value>
    public IReadOnlyList<WorkerGroup>? Groups { get; init; }

    /// <summary>
    /// How many operations start per second, whether earlier ones have ended or not; <see langword="null"/> for as many as the workers can do. With a rate,
    /// latency is also measured from the intended start.
    /// </summary>
    /// <value>More than zero.</value>
    public double? RatePerSecond { get; init; }

    /// <summary>With a rate, the most operations in flight; further starts are dropped and counted. <see langword="null"/> drops none.</summary>
    /// <value>At least 1.</value>
    public int? MaxInFlight { get; init; }

    /// <summary>The length of a round.</summary>
    /// <value>10 milliseconds to an hour; <see langword="null"/> for 1.2 seconds, or for 100 milliseconds where workloads take turns.</value>
    public TimeSpan? Duration { get; init; }

    /// <summary>The number of rounds of each workload. The round is the unit of all statistics.</summary>
    /// <value>1 to 10,000, and at least 8 to compare; <see langword="null"/> for 10, or 48 to compare, or 6 to scale.</value>
    public int? Rounds { get; init; }

    /// <summary>
    /// The longest time for the warm-up, which is not measured. It ends earlier if the rate is steady, and takes up to five seconds longer while code is being
    /// compiled.
    /// </summary>
    /// <value>Zero or more. The default is 3 seconds.</value>
    public TimeSpan LongestWarmUp { get; init; } = TimeSpan.FromSeconds(3);

    /// <summary>How long to wait for an operation, a set-up or a clean-up to end.</summary>
    /// <value>More than zero. The default is 20 seconds.</value>
    public TimeSpan Timeout { get; init; } = TimeSpan.FromSeconds(20);

    /// <summary>The seed of all random numbers, such as those of <see cref="WorkerContext.Random"/>.</summary>
    public int Seed { get; init; } = 1;

    /// <summary>Is called after five seconds with what the measurement is waiting for, such as <c>SetupAsync to end</c>, on another thread.</summary>
    public Action<string>? Waiting { get; init; }

    /// <summary>How long a set-up or a clean-up may take, if not as long as an operation.</summary>
    internal TimeSpan? CallLimit { get; init; }

    /// <summary>The run of these options.</summary>
    /// <exception cref="ArgumentOutOfRangeException">A value is outside its range.</exception>
    internal WorkerRunSpec Spec(string name, int workers, int rounds, bool takesTurns)
    {
        Check(nameof(Workers), workers is >= 1 and <= 4096, workers, "1 to 4096");
        TimeSpan duration = Duration ?? TimeSpan.FromMilliseconds(takesTurns ? 100 : 1200);
        Check(nameof(Duration), duration >= TimeSpan.FromMilliseconds(10) && duration <= TimeSpan.FromHours(1), duration, "10 milliseconds to an hour");
        Check(nameof(RatePerSecond), RatePerSecond is null or > 0 and < double.PositiveInfinity, RatePerSecond, "more than zero");
        Check(
            nameof(MaxInFlight), MaxInFlight is null || (MaxInFlight >= 1 && RatePerSecond is not null), MaxInFlight, "at least 1, and needs a RatePerSecond");
        Check(nameof(LongestWarmUp), LongestWarmUp >= TimeSpan.Zero, LongestWarmUp, "zero or more");
        Check(nameof(Timeout), Timeout > TimeSpan.Zero, Timeout, "more than zero");
        WorkerRunSpec spec = new()
        {
            Workload = name,
            Groups = Groups ?? [new WorkerGroup(WorkerRunSpec.DefaultGroup, workers)],
            RatePerSecond = RatePerSecond,
            MaxInFlight = MaxInFlight,
            Duration = duration,
            Rounds = takesTurns ? int.MaxValue : rounds,
            LongestWarmUp = LongestWarmUp,
            DrainLimit = Timeout,
            Seed = Seed,
            TakesTurns = takesTurns,
        };
        spec.Validate();
        return spec;
    }

    /// <summary>How many rounds, of a thing that takes as many by default.</summary>
    internal int RoundsOr(int usual, int least)
    {
        int rounds = Rounds ?? usual;
        Check(nameof(Rounds), rounds >= least && rounds <= 10_000, rounds, $"{least} to 10,000");
        return rounds;
    }

    private static void Check(string name, bool isFine, object? value, string range)
    {
        if (!isFine)
        {
            throw new ArgumentOutOfRangeException(name, value, $"{name} must be {range}.");
        }
    }
}

/// <summary>Several runs in this process that take turns, so that what the machine does meanwhile meets all of them alike.</summary>
internal static class TurnRuns
{
    /// <summary>Measures.</summary>
    /// <param name="arms">What is measured, and how.</param>
    /// <param name="rounds">How many rounds each makes.</param>
    /// <param name="waiting">Is told what is waited for.</param>
    /// <param name="stop">Ends it with the rounds that there are.</param>
    /// <param name="callLimit">How long a call of a workload outside of its operations may take; null for as long as these.</param>
    /// <returns>The runs, and the number of each of their rounds among all, from 1.</returns>
    public static async Task<IReadOnlyList<(WorkerRun Run, IReadOnlyList<int>? Order)>> MeasureAsync(
        IReadOnlyList<(IWorkload Workload, WorkerRunSpec Spec)> arms, int rounds, Action<string>? waiting, CancellationToken stop,
        TimeSpan? callLimit = null)
    {
        int made = 0;
        TurnObserver[] turns = [.. arms.Select(_ => new TurnObserver(() => ++made, waiting))];
        IReadOnlyList<WorkerRun> runs = await WorkerRunner.RunInTurnsAsync(
            [.. arms.Select((arm, i) => (new WorkerRunner(arm.Spec, turns[i]) { CallLimit = callLimit }, arm.Workload))], rounds, stop).ConfigureAwait(false);
        return [.. runs.Select((run, i) => (run, (IReadOnlyList<int>?)turns[i].Order))];
    }

    /// <summary>Numbers the rounds of one run among those of all.</summary>
    private sealed class TurnObserver(Func<int> next, Action<string>? waiting) : IRunObserver
    {
        public List<int> Order { get; } = [];

        public void RoundEnded(WorkerRound round, int rounds) => Order.Add(next());

        public void Waiting(string what) => waiting?.Invoke(what);
    }
}
