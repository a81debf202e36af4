using Weir.Lab.Processes;

namespace Weir.Lab.Workers;

/// <summary>The arm of a run of workers: with the canary before each round, and rounds done again where the machine was disturbed.</summary>
internal sealed class WorkerArm(
    WorkerRunSpec spec, IWorkload workload, WorkloadCalls guard, IRunObserver? observer, Func<CanaryReading> canary) : RoundArm(spec, workload, guard)
{
    private const int LeastWarmUps = 3;
    private const int MostColdRounds = 3;
    private static readonly TimeSpan WarmUpWindow = TimeSpan.FromMilliseconds(150);
    private static readonly TimeSpan WarmUpWindowOfTurns = TimeSpan.FromMilliseconds(30);
    private static readonly TimeSpan ShortWindow = TimeSpan.FromMilliseconds(1);

    private readonly long _begin = Stopwatch.GetTimestamp();
    private readonly List<WorkerRound> _rounds = [];
    private Dictionary<string, int> _batches = spec.Groups.ToDictionary(static g => g.Name, static _ => 1);
    private Operation? _first;
    private OverheadMeter? _overhead;
    private long? _idleBytes;
    private long _heap;
    private int _asked;

    /// <summary>The rounds that count.</summary>
    public IReadOnlyList<WorkerRound> Rounds => _rounds;

    /// <summary>What the canary found last.</summary>
    public CanaryReading Canary { get; private set; }

    /// <summary>How many rounds were done again for the canary.</summary>
    public int Repeats { get; private set; }

    /// <summary>How many rounds were done again for the compiler.</summary>
    public int ColdRounds { get; private set; }

    public bool WasSteady { get; private set; }

    /// <summary>How many bytes more were reachable after the last round than before the first; 0 where that is not looked at.</summary>
    public long HeapGrowth { get; private set; }

    /// <summary>How many operations were executed since the first round.</summary>
    public long Executed { get; private set; }

    /// <summary>How many operations failed before the first round.</summary>
    public long EarlyFailures { get; private set; }

    /// <summary>The first of these failures.</summary>
    public Exception? EarlyError { get; private set; }

    /// <summary>Whether it was set up, or began to be.</summary>
    public bool HasBegun { get; private set; }

    /// <summary>Whether a call of the workload was left behind.</summary>
    public bool HasHung => Guard!.HasHung;

    public bool IsStuck { get; private set; }

    /// <summary>Whether there are no more turns for it: then it is complete with fewer rounds.</summary>
    public bool IsOver { get; private set; }

    /// <summary>What comes after the last round, given what runs one more window.</summary>
    public Func<ExtraWindow, CancellationToken, Task>? Extra { get; init; }

    // Of runs that take turns the rounds are many and short, and other arms may run in the process.
    private bool LooksAtHeap => !Spec.TakesTurns && Spec.Whole is null;

    // How many operations go between two looks at the clock, where batches of short ones may have a size at all, and it is one.
    private int? Batch => Spec is { Groups.Count: 1, RatePerSecond: null, Whole: null } ? FirstBatch : null;

    private int FirstBatch => _batches[Spec.Groups[0].Name];

    private bool WarmsUp => Spec.LongestWarmUp > TimeSpan.Zero;

    public override async Task<bool> PrepareAsync(CancellationToken cancellationToken)
    {
        HasBegun = true;
        await Guard!.RunAsync(nameof(IWorkload.SetupAsync), () => Workload.SetupAsync(Spec, cancellationToken), cancellationToken).ConfigureAwait(false);
        observer?.WarmingUp();
        if (WarmsUp || Spec.Whole is null)
        {
            await WarmUpAsync(cancellationToken).ConfigureAwait(false);
        }

        if (LooksAtHeap)
        {
            _heap = ReachableBytes();
        }

        Canary = canary();
        return !IsStuck;
    }

    public override async Task<RoundEnd> RoundAsync(int round, CancellationToken cancellationToken)
    {
        // Once for each: a round that is done again has not given up its turn.
        if (observer is not null && _asked < round && !await observer.MayStartAsync(round, cancellationToken).ConfigureAwait(false))
        {
            IsOver = !cancellationToken.IsCancellationRequested;
            return RoundEnd.Over;
        }

        if (_asked == 0 && Batch is { } own && observer?.Batch is { } agreed && agreed != own)
        {
            _batches = new Dictionary<string, int> { [Spec.Groups[0].Name] = agreed };
            await MeasureOverheadAsync(cancellationToken).ConfigureAwait(false);
        }

        _asked = round;
        CanaryReading before = Canary;
        observer?.RoundStarted(round, Spec.Rounds);
        WindowOutcome outcome;
        try
        {
            outcome = await MeasureAsync(PlanOf(round, Spec.Duration), cancellationToken).ConfigureAwait(false);
        }
        catch (OperationCanceledException) when (cancellationToken.IsCancellationRequested)
        {
            // Before it began: the rounds before it are there all the same.
            return RoundEnd.Over;
        }

        Executed += outcome.Executed;
        WorkerRound result = RoundOf(outcome, round, before);
        if (_overhead is { } overhead && !outcome.IsPartial && !outcome.IsStuck)
        {
            await OwnThread.RunAsync(() => overhead.TakeAfterRound(cancellationToken)).ConfigureAwait(false);
        }

        Canary = canary();
        IsStuck = outcome.IsStuck;
        if (!outcome.IsPartial && !IsStuck && IsDisturbed(result, before))
        {
            return RoundEnd.Again;
        }

        _rounds.Add(result);
        observer?.RoundEnded(result, Spec.Rounds);
        return IsStuck ? RoundEnd.Over : RoundEnd.Next;
    }

    public override Task AfterRoundsAsync(CancellationToken cancellationToken)
    {
        if (LooksAtHeap && !IsStuck && _rounds.Count > 0)
        {
            HeapGrowth = ReachableBytes() - _heap;
        }

        return Extra is null || IsStuck || _rounds.Count == 0 || cancellationToken.IsCancellationRequested
            ? Task.CompletedTask
            : Extra(least => ExtraWindowAsync(least, cancellationToken), cancellationToken);
    }

    private static long ReachableBytes()
    {
        Heap.Collect();
        return GC.GetTotalMemory(forceFullCollection: false);
    }

    private async Task<(double Seconds, double Rate, IReadOnlyList<string> Troubles)> ExtraWindowAsync(TimeSpan least, CancellationToken cancellationToken)
    {
        int round = _rounds.Count + 1;
        WindowPlan plan = PlanOf(round, Spec.Duration > least ? Spec.Duration : least);
        WindowOutcome outcome = await MeasureAsync(plan, cancellationToken).ConfigureAwait(false);
        WorkerRound result = RoundOf(outcome, round, default);
        return (outcome.Seconds, result.Rate, result.Troubles);
    }

    // By the conditions, never by the rate: code that became old enough in this round is compiled in the next.
    private bool IsDisturbed(WorkerRound result, CanaryReading before)
    {
        if (!(before.IsQuiet && Canary.IsQuiet) && Repeats < Spec.MostRepeats)
        {
            Repeats++;
            return true;
        }

        if (RunChecks.WasCompiling(result, Spec) && ColdRounds < MostColdRounds && WarmsUp)
        {
            ColdRounds++;
            return true;
        }

        return false;
    }

    private async Task WarmUpAsync(CancellationToken cancellationToken)
    {
        if (WarmsUp)
        {
            WindowPlan practice = PlanOf(0, ShortWindow) with { IsPractice = true };
            await CallOftenAsync(
                async () => await UnmeasuredAsync(practice, default, cancellationToken).ConfigureAwait(false) is not null, cancellationToken)
                .ConfigureAwait(false);
        }

        // A round in which code is compiled is no round at all, so more time goes into that than into a steady rate. Of those that take turns the rate need
        // not be steady.
        WarmUp warmUp = new()
        {
            LeastWindows = LeastWarmUps,
            Longest = Spec.LongestWarmUp,
            CompilerPatience = WarmsUp ? CompilerPatience : TimeSpan.Zero,
            QuietWindows = 2,
            RestsForCompiler = true,
        };
        warmUp = Spec.TakesTurns ? warmUp with { MostSlower = 1, MostFaster = double.MaxValue } : warmUp;
        WasSteady = await warmUp.RunAsync(
            async () =>
            {
                // All that a round does, so that nothing of the lab itself is compiled in a round either.
                CanaryReading reading = Resources.Canary.Read(2);
                WindowPlan plan = PlanOf(0, Spec.TakesTurns ? WarmUpWindowOfTurns : WarmUpWindow);
                WindowOutcome? outcome = await UnmeasuredAsync(plan, reading, cancellationToken).ConfigureAwait(false);
                if (outcome is null)
                {
                    return null;
                }

                _first = outcome.First;
                if (Spec.RatePerSecond is null && Spec.Whole is null)
                {
                    _batches = outcome.NextBatches();
                }

                _idleBytes ??= await OwnThread.RunAsync(
                    () => IdleWindow.Bytes(Spec, outcome.AsyncGroups, Spec.Whole is null ? null : 1, cancellationToken)).ConfigureAwait(false);
                return outcome;
            },
            () => IsStuck,
            cancellationToken).ConfigureAwait(false);
        if (!IsStuck && !cancellationToken.IsCancellationRequested)
        {
            // Last, when the empty operation is compiled for good too.
            await MeasureOverheadAsync(cancellationToken).ConfigureAwait(false);
            observer?.WarmedUp(Batch);
        }

        if (WarmsUp)
        {
            // What the last windows left to the compiler would run beside the first round, be it of this process or of another that takes turns with it.
            await CompilerRest.WaitAsync(CompilerRest.Longest, cancellationToken).ConfigureAwait(false);
        }
    }

    private async Task MeasureOverheadAsync(CancellationToken cancellationToken)
    {
        if (_first is { } operation)
        {
            _overhead = await OwnThread.RunAsync(() => OverheadMeter.Start(Spec, operation, FirstBatch, cancellationToken)).ConfigureAwait(false);
        }
    }

    private async Task<WindowOutcome?> UnmeasuredAsync(WindowPlan plan, CanaryReading reading, CancellationToken cancellationToken)
    {
        WindowOutcome outcome = await MeasureAsync(plan, cancellationToken).ConfigureAwait(false);
        WorkerRound round = RoundOf(outcome, outcome.IsStuck ? 1 : 0, reading);
        EarlyFailures += outcome.Failures;
        EarlyError ??= outcome.FirstError;
        if (outcome.IsStuck)
        {
            // It would hang in the rounds as well, so this window is its only result.
            IsStuck = true;
            _rounds.Add(round);
            return null;
        }

        return outcome;
    }

    private WindowPlan PlanOf(int round, TimeSpan duration) => new(round, duration, _batches) { Whole = Spec.Whole };

    private Task<WindowOutcome> MeasureAsync(WindowPlan plan, CancellationToken cancellationToken) =>
        WindowAsync(plan, cancellationToken, waiting: what => observer?.Waiting("a worker to " + what));

    private WorkerRound RoundOf(WindowOutcome outcome, int round, CanaryReading reading)
    {
        LoopOverhead? overhead = round > 0 ? _overhead?.Of(outcome.Rate) : null;
        double RateOf(double rate) => overhead is { IsSubtracted: true } ? overhead.Without(rate) : rate;
        List<string> troubles = [.. outcome.Troubles];
        Dictionary<string, long> kinds = outcome.FailureKinds();
        if (outcome.Failures > Spec.MostFailures * (outcome.Executed + outcome.Failures))
        {
            Exception first = outcome.FirstError!;
            string several = kinds.Count > 1 ? $" ({FailureWords.Of(kinds)})" : "";
            troubles.Add(
                FormattableString.Invariant($"{outcome.Failures:N0} operations failed{several}, the first with {first.GetType().Name}: {first.Message}"));
        }

        // What a stopped round left undone is no fault of the workload.
        if (!outcome.IsPartial && Workload.Check(outcome.Totals()) is string wrong)
        {
            troubles.Add(wrong);
        }

        return new WorkerRound
        {
            Round = round,
            StartSecond = Clock.Nanoseconds(_begin, outcome.Begin) / 1e9,
            Seconds = outcome.Seconds,
            Operations = outcome.Operations,
            Rate = RateOf(outcome.Rate),
            Executed = outcome.Executed,
            Failures = outcome.Failures,
            FailureKinds = kinds,
            Groups = [.. outcome.Groups().Select(g => g with { Rate = RateOf(g.Rate) })],
            Overhead = overhead,
            Workers = outcome.Workers(),
            Service = outcome.Service is null ? null : new LatencySummary(outcome.Service),
            Response = outcome.Response is null ? null : new LatencySummary(outcome.Response),
            BatchTimes = outcome.BatchTimes,
            InFlight = outcome.InFlight,
            Pacing = outcome.Pacing,
            Resources = outcome.Resources,
            BytesPerOperation = (double)Math.Max(0, outcome.Bytes - (_idleBytes ?? 0)) / Math.Max(1, outcome.Executed),
            Timeline = outcome.Timeline,
            Canary = reading,
            Troubles = troubles,
            IsPartial = outcome.IsPartial,
        };
    }
}
