namespace Weir.Lab.Trials;

/// <summary>
/// Measures arms against each other: each is warmed up, then every round measures one window of each, in an order that changes from round
/// to round. All results are verified.
/// </summary>
/// <remarks>
/// Arms share a process, so an arm that leaves something behind (a grown thread pool, a large heap) may burden the others. The heap is
/// collected before each window, so that no arm pays for the garbage of another.
/// </remarks>
internal sealed class TrialRunner
{
    private readonly TrialOptions _options;
    private readonly ITrialObserver? _observer;

    /// <summary>Creates a runner.</summary>
    /// <param name="options">How the run is done; <see langword="null"/> for the defaults.</param>
    /// <param name="observer">Receives the progress of the run.</param>
    public TrialRunner(TrialOptions? options = null, ITrialObserver? observer = null)
    {
        _options = options ?? new TrialOptions();
        _options.Validate();
        _observer = observer;
    }

    /// <summary>Runs all trials.</summary>
    /// <param name="arms">The arms. At least one, with different names.</param>
    /// <param name="cancellationToken">Stops the run. It is not an error: the report has what was done so far, marked as partial.</param>
    /// <exception cref="ArgumentException">There is no arm, or two have the same name.</exception>
    /// <exception cref="WrongResultException">An arm's count or checksum was wrong.</exception>
    public Task<TrialReport> RunAsync(IReadOnlyList<TrialArm> arms, CancellationToken cancellationToken = default)
    {
        if (arms.Count == 0 || arms.Select(static a => a.Name).Distinct(StringComparer.Ordinal).Count() != arms.Count)
        {
            throw new ArgumentException("There must be at least one arm, and their names must differ.", nameof(arms));
        }

        return RunAllAsync(arms, cancellationToken);
    }

    private async Task<TrialReport> RunAllAsync(IReadOnlyList<TrialArm> arms, CancellationToken cancellationToken)
    {
        TrialSteps steps = new(_options.Trials, arms.Count * (_options.Trials + 1), _observer);
        PassArm[] passes = [.. arms.Select(arm => new PassArm(arm, _options, steps))];
        await RoundRunner.RunAsync(passes, _options.Trials, cancellationToken).ConfigureAwait(false);
        return new TrialReport(
            [.. passes.Select(static pass => new ArmRecord { Name = pass.Arm.Name, Workers = 1, Rounds = pass.Rounds })],
            passes.Any(pass => pass.Rounds.Count < _options.Trials || pass.Rounds.Any(static r => r.Partial)));
    }
}

/// <summary>One of the things that are compared: a name, and a delegate that runs one pass over the same items as every other arm.</summary>
/// <param name="name">The name in reports. Unique within a run.</param>
/// <param name="expected">The count and checksum that every pass must come to.</param>
/// <param name="pass">Runs one pass. It throws an <see cref="OperationCanceledException"/> when its token is cancelled before it is done.</param>
internal sealed class TrialArm(string name, PassResult expected, Func<CancellationToken, ValueTask<PassResult>> pass)
{
    public string Name => name;

    public PassResult Expected => expected;

    public Func<CancellationToken, ValueTask<PassResult>> Pass => pass;

    /// <summary>Runs a smaller pass, so that the code is compiled and the threads are there; <see langword="null"/> for no warm-up.</summary>
    public Func<CancellationToken, ValueTask>? WarmUp { get; init; }

    /// <summary>
    /// How many items have been done since the arm was made. It only grows, and may be read at any time from any thread: it feeds the
    /// progress display, and tells what was done when a run is stopped in the middle of a pass.
    /// </summary>
    public Func<long> ItemsDone { get; init; } = static () => 0;

    /// <summary>Prepares a window, before its time begins; <see langword="null"/> if there is nothing to prepare.</summary>
    public Func<CancellationToken, ValueTask>? Begin { get; init; }

    /// <summary>Takes what became of the items since it was last asked; <see langword="null"/> for an arm that has no queue.</summary>
    public Func<DeliveryTally>? TakeDelivery { get; init; }
}

/// <summary>How a run of interleaved trials is done. Immutable.</summary>
internal sealed record TrialOptions
{
    /// <summary>How many windows of each arm are measured.</summary>
    /// <value>At least 1. The default is 5.</value>
    public int Trials { get; init; } = 5;

    /// <summary>How long a window lasts at least: passes are repeated until it is over.</summary>
    /// <value>The default is 1 second. Zero means one pass.</value>
    public TimeSpan MinimumWindow { get; init; } = TimeSpan.FromSeconds(1);

    /// <summary>How long the warm-up of an arm lasts at most; it ends before, when the arm's rate is steady.</summary>
    /// <value>The default is 1 second. Zero means one warm-up pass.</value>
    public TimeSpan LongestWarmUp { get; init; } = TimeSpan.FromSeconds(1);

    /// <summary>How much longer the warm-up of an arm lasts at most while code is being compiled.</summary>
    /// <value>The default is 5 seconds.</value>
    public TimeSpan CompilerPatience { get; init; } = TimeSpan.FromSeconds(5);

    /// <summary>The clock.</summary>
    /// <value>The default is <see cref="TimeProvider.System"/>.</value>
    public TimeProvider TimeProvider { get; init; } = TimeProvider.System;

    internal void Validate()
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(Trials, 1, nameof(Trials));
        ArgumentOutOfRangeException.ThrowIfLessThan(MinimumWindow, TimeSpan.Zero, nameof(MinimumWindow));
        ArgumentOutOfRangeException.ThrowIfLessThan(LongestWarmUp, TimeSpan.Zero, nameof(LongestWarmUp));
        ArgumentOutOfRangeException.ThrowIfLessThan(CompilerPatience, TimeSpan.Zero, nameof(CompilerPatience));
        ArgumentNullException.ThrowIfNull(TimeProvider, nameof(TimeProvider));
    }
}

/// <summary>What a run of interleaved trials found.</summary>
/// <param name="Arms">The arms in the order in which they were given, each with its rounds in their order; none when the run was stopped before.</param>
/// <param name="IsPartial">Whether the run was stopped before it was complete.</param>
internal sealed record TrialReport(IReadOnlyList<ArmRecord> Arms, bool IsPartial);

/// <summary>One step of a run: the warm-up of an arm, or one measured window of it.</summary>
/// <param name="Arm">The arm that runs.</param>
/// <param name="Round">The round, from 1; 0 is the warm-up.</param>
/// <param name="Rounds">How many rounds there are.</param>
/// <param name="Index">How many steps came before, over all arms.</param>
/// <param name="Count">How many steps the run has.</param>
internal readonly record struct TrialStep(TrialArm Arm, int Round, int Rounds, int Index, int Count)
{
    /// <summary>The number of a window among all windows of the run, from 1: the warm-ups come before all of them.</summary>
    public int Number => Index + 1 - (Count / (Rounds + 1));
}

/// <summary>Tells of each step of a run, whichever arm makes it.</summary>
internal sealed class TrialSteps(int rounds, int count, ITrialObserver? observer)
{
    private int _done;

    public TrialStep Start(TrialArm arm, int round)
    {
        TrialStep step = new(arm, round, rounds, _done++, count);
        observer?.Started(step);
        return step;
    }

    public void End(TrialStep step, RoundRecord? round) => observer?.Ended(step, round);
}

/// <summary>Receives the progress of a run. It is called between windows, never inside one, so it may draw.</summary>
internal interface ITrialObserver
{
    /// <summary>A step begins.</summary>
    void Started(TrialStep trialStep);

    /// <summary>A step has ended.</summary>
    /// <param name="trialStep">The step.</param>
    /// <param name="round">What was measured; <see langword="null"/> for a warm-up.</param>
    void Ended(TrialStep trialStep, RoundRecord? round);
}

/// <summary>An arm in a run: one worker whose operation is a pass, which is checked before it counts. Its windows are of whole passes.</summary>
internal sealed class PassArm(TrialArm arm, TrialOptions options, TrialSteps steps) : RoundArm(Spec, new PassWorkload(arm))
{
    // Steady is: two windows in a row within 5 % of each other, after at least four. Code is compiled for good after 30 calls and a
    // pause of 100 ms, so fewer windows of a twentieth of a second say little.
    private const int WarmUpWindows = 20;
    private const int LeastWarmUps = 4;

    // What a whole window calls first, and what the warm-up left to a compiler that had no processor, is compiled in the first windows.
    private const int MostColdRounds = 3;

    private static new readonly WorkerRunSpec Spec = new() { Workload = "pass", MeasuresLatency = false, FailsFast = true };

    private readonly List<RoundRecord> _rounds = [];
    private int _coldRounds;

    public TrialArm Arm => arm;

    /// <summary>A round for each window, in their order.</summary>
    public IReadOnlyList<RoundRecord> Rounds => _rounds;

    /// <summary>Whether the compiler was at work for more of some rounds than goes unnoticed.</summary>
    public static bool AreCold(IReadOnlyList<RoundRecord> rounds) =>
        rounds.Sum(static r => r.CompilationSeconds ?? 0) > Spec.MostCompiling * rounds.Sum(static r => r.Seconds);

    private PassWorkload Passes => (PassWorkload)Workload;

    public override async Task<bool> PrepareAsync(CancellationToken cancellationToken)
    {
        if (cancellationToken.IsCancellationRequested)
        {
            return false;
        }

        TrialStep step = steps.Start(arm, round: 0);
        if (arm.WarmUp is { } pass)
        {
            Workload unchecked_ = new("warm-up", worker => Operation.OfAsync(() => pass(worker.Stopping)));
            WarmUp warmUp = new()
            {
                LeastWindows = LeastWarmUps,
                Longest = options.LongestWarmUp,
                CompilerPatience = options.CompilerPatience,
                QuietWindows = 2,
                RestsForCompiler = options.CompilerPatience > TimeSpan.Zero,
                Clock = options.TimeProvider,
            };
            await warmUp.RunAsync(
                async () => await WindowAsync(PlanOf(0, options.LongestWarmUp / WarmUpWindows), cancellationToken, unchecked_).ConfigureAwait(false),
                static () => false,
                cancellationToken).ConfigureAwait(false);
        }

        steps.End(step, null);
        return true;
    }

    public override async Task<RoundEnd> RoundAsync(int round, CancellationToken cancellationToken)
    {
        TrialStep step = steps.Start(arm, round);
        RoundRecord record = await MeasureAsync(step, cancellationToken).ConfigureAwait(false);
        while (MayBeAgain(record) && AreCold([record]) && !cancellationToken.IsCancellationRequested)
        {
            _coldRounds++;
            await CompilerRest.WaitAsync(CompilerRest.Longest, cancellationToken).ConfigureAwait(false);
            record = await MeasureAsync(step, cancellationToken).ConfigureAwait(false);
        }

        if (record.Operations > 0 || record.Lost > 0)
        {
            _rounds.Add(record);
        }

        steps.End(step, record);
        return RoundEnd.Next;
    }

    private async Task<RoundRecord> MeasureAsync(TrialStep step, CancellationToken cancellationToken)
    {
        long doneBefore = arm.ItemsDone();
        WindowOutcome outcome = await WindowAsync(PlanOf(step.Round, options.MinimumWindow), cancellationToken).ConfigureAwait(false);
        return Passes.RoundOf(step.Number, outcome, arm.ItemsDone() - doneBefore);
    }

    // Who asked for no warm-up measures the first passes as they are, and no round counts for nothing in which items of a queue may be missing.
    private bool MayBeAgain(RoundRecord round) => arm.WarmUp is not null && options.CompilerPatience > TimeSpan.Zero && _coldRounds < MostColdRounds
        && round is { Partial: false, Lost: null };

    private WindowPlan PlanOf(int round, TimeSpan length) =>
        WindowPlan.OfOne(round, 1, new WholeOperations { Until = length }) with { Clock = options.TimeProvider };
}

/// <summary>Passes of an arm as operations, with what they came to added up.</summary>
internal sealed class PassWorkload(TrialArm arm) : IWorkload
{
    private long _passes;
    private long _items;
    private long _failed;
    private long _timedOut;

    public string Name => arm.Name;

    public async ValueTask BeginRoundAsync(CancellationToken cancellationToken)
    {
        (_passes, _items, _failed, _timedOut) = (0, 0, 0, 0);
        if (arm.Begin is { } begin)
        {
            await begin(cancellationToken).ConfigureAwait(false);
        }

        // What the warm-up counted counts nowhere.
        arm.TakeDelivery?.Invoke();
    }

    public Operation CreateOperation(WorkerContext context) => new AsyncOperation<PassCall, PassResult>(new PassCall(arm, this, context.Stopping));

    /// <summary>The window that has just ended.</summary>
    /// <param name="number">Its number among all windows of the run, from 1.</param>
    /// <param name="outcome">What was read of it.</param>
    /// <param name="itemsDone">How many items the arm itself says it did, which tells more than whole passes when it was stopped within one.</param>
    public RoundRecord RoundOf(int number, WindowOutcome outcome, long itemsDone)
    {
        DeliveryTally? delivery = arm.TakeDelivery?.Invoke();
        long items = (outcome.IsPartial ? Math.Max(_items, itemsDone) : _items) - (delivery?.Lost ?? 0);
        double seconds = outcome.Solo?.Elapsed.TotalSeconds ?? 0;
        RoundRecord round = new RoundRecord
        {
            Order = number,
            Partial = outcome.IsPartial,
            Passes = _passes,
            Operations = items,
            Seconds = seconds,
            Rate = items / Math.Max(seconds, 1e-9),
            Failures = _failed + _timedOut,
            TimedOut = _timedOut,

            // Every completed pass had this one; otherwise, there is no result.
            Checksum = _passes > 0 ? $"{arm.Expected.Checksum:x16}" : null,
        }.With(outcome.Resources);
        return delivery is null ? round : delivery.Of(round);
    }

    private void Add(in PassResult result)
    {
        WrongResultException.ThrowIfWrong(arm, result);
        _passes++;
        _items += result.Count;
        _failed += result.Failed;
        _timedOut += result.TimedOut;
    }

    // The worker's own loop awaits the pass and gives its result here: a method between them would allocate for each pass.
    private readonly struct PassCall(TrialArm arm, PassWorkload passes, CancellationToken stopping) : IAsyncCall<PassResult>
    {
        public ValueTask<PassResult> StartAsync() => arm.Pass(stopping);

        public void Take(PassResult result) => passes.Add(result);

        public Operation Empty() => Operation.OfAsync(static () => default(ValueTask<PassResult>));
    }
}

/// <summary>The outcome of one pass over the items of an arm. Count and checksum are compared with what they must be after every pass.</summary>
/// <param name="Count">How many items were accounted for.</param>
/// <param name="Checksum">A sum over the results and the positions at which they were found.</param>
internal readonly record struct PassResult(long Count, long Checksum)
{
    /// <summary>How many of the items ended with a failure that was meant to happen.</summary>
    public long Failed { get; init; }

    /// <summary>How many of the items ran out of time.</summary>
    public long TimedOut { get; init; }

    /// <summary>The problem that the pass itself found, as a part of a sentence; <see langword="null"/> if there is none.</summary>
    public string? Trouble { get; init; }
}

/// <summary>What became of the items that went through a queue in a window. Any number of threads count at a time.</summary>
internal sealed class DeliveryTally
{
    private long _duplicates;
    private long _outOfOrder;
    private long _lost;
    private long _lateStarts;

    /// <summary>How often an item was processed that had been processed before.</summary>
    public long Duplicates => Volatile.Read(ref _duplicates);

    /// <summary>How many items were first processed after a later one of their key.</summary>
    public long OutOfOrder => Volatile.Read(ref _outOfOrder);

    /// <summary>How many items were published and not done in the time that the arm waits for them.</summary>
    public long Lost => Volatile.Read(ref _lost);

    /// <summary>With a rate: how many messages were published more than a millisecond after they were due.</summary>
    public long LateStarts => Volatile.Read(ref _lateStarts);

    /// <summary>Times from the call that publishes to the acknowledgement.</summary>
    public LatencyHistogram Service { get; } = new();

    /// <summary>Times from when the call should have been made to the acknowledgement; <see langword="null"/> without a rate.</summary>
    public LatencyHistogram? Response { get; init; }

    /// <summary>A round with these counts. The items of a queue have no results, so there is no checksum.</summary>
    public RoundRecord Of(RoundRecord round) => round with
    {
        Duplicates = Duplicates,
        Lost = Lost,
        OutOfOrder = OutOfOrder,
        LateStarts = Response is null ? null : LateStarts,
        Service = HistogramCodec.Encode(Service),
        Response = Response is { } response ? HistogramCodec.Encode(response) : null,
        TimedOut = null,
        Checksum = null,
    };

    public void CountDuplicate() => Interlocked.Increment(ref _duplicates);

    public void CountOutOfOrder() => Interlocked.Increment(ref _outOfOrder);

    public void AddLost(long items) => Interlocked.Add(ref _lost, items);

    public void AddLateStarts(long messages) => Interlocked.Add(ref _lateStarts, messages);
}

/// <summary>An arm gave a wrong count or checksum: nothing that was measured of it means anything.</summary>
internal sealed class WrongResultException : Exception
{
    internal WrongResultException(string arm, string message)
        : base(message) => ArmName = arm;

    public string ArmName { get; }

    internal static void ThrowIfWrong(TrialArm arm, in PassResult result)
    {
        if (result.Count == arm.Expected.Count && result.Checksum == arm.Expected.Checksum && result.Trouble is null)
        {
            return;
        }

        string what = result.Count != arm.Expected.Count
            ? FormattableString.Invariant($"accounted for {result.Count:N0} items instead of {arm.Expected.Count:N0}")
            : result.Checksum != arm.Expected.Checksum
                ? FormattableString.Invariant($"gave the checksum {result.Checksum:x16} instead of {arm.Expected.Checksum:x16}")
                : "is in trouble";
        string why = result.Trouble is null ? "" : $" ({result.Trouble})";
        throw new WrongResultException(arm.Name, $"The results are wrong: {arm.Name} {what}{why}.");
    }
}
