using System.Runtime.ExceptionServices;
using Weir.Lab.Processes;

namespace Weir.Lab.Workers;

/// <summary>
/// The one loop that takes turns, whatever an arm is: workers, passes, samples, processes, programs or servers. Arms with windows are set up and warmed up, and
/// then each round measures a window of each, in an order that changes from round to round.
/// </summary>
/// <remarks>
/// How a round is measured. Each arm is set up (<see cref="RoundArm.PrepareAsync"/>) and warmed up (<see cref="WarmUp"/> decides when it is warm). Then each
/// round gives each arm a window, in an order that changes from round to round (<see cref="TrialOrder"/>). <see cref="WindowRunner"/> starts the workers at the
/// start barrier, ends them, and reads the resources that they used; <see cref="WorkerSlot"/> is one worker of a window.
/// <para>
/// Two kinds of arms have windows. A <see cref="WorkerArm"/> has many workers for a time: the window cuts through operations and counts parts of them, and a
/// round is repeated if the canary or the compiler disturbed it. A <c>PassArm</c> has one worker whose operation is a pass, which is checked before it counts;
/// a part of a pass has no checksum, so its window consists of whole operations. Processes, programs and servers take turns in the same loop, without windows.
/// </para>
/// <para>
/// A worker that is alone in a window of whole operations reads clock, bytes and processor time itself (<see cref="SoloReading"/>), right before its first
/// operation and right after its last. So the bytes are exact to the byte: the barrier, the threads and the loop's own state are created before.
/// </para>
/// Arms share a process, so one that leaves something behind (a grown thread pool, a large heap) may burden the others. The garbage of one is not collected
/// on the time of another.
/// </remarks>
internal static class RoundRunner
{
    /// <summary>Runs all rounds.</summary>
    /// <param name="arms">What is measured.</param>
    /// <param name="rounds">How many rounds there are.</param>
    /// <param name="cancellationToken">Ends it before the next window. It is no error.</param>
    public static async Task RunAsync(IReadOnlyList<RoundArm> arms, int rounds, CancellationToken cancellationToken)
    {
        int begun = 0;
        try
        {
            foreach (RoundArm arm in arms)
            {
                begun++;
                if (!await arm.PrepareAsync(cancellationToken).ConfigureAwait(false))
                {
                    return;
                }
            }

            await TakeTurnsAsync(
                arms.Count, round => round < rounds, (arm, round) => arms[arm].RoundAsync(round + 1, cancellationToken), cancellationToken)
                .ConfigureAwait(false);
            foreach (RoundArm arm in arms)
            {
                await arm.AfterRoundsAsync(cancellationToken).ConfigureAwait(false);
            }
        }
        finally
        {
            await CleanUpAsync(arms, 0, begun).ConfigureAwait(false);
        }
    }

    /// <summary>Takes turns: each arm has one in each round.</summary>
    /// <param name="arms">How many arms there are.</param>
    /// <param name="begins">Whether a round begins, by its number from 0. It is asked before each.</param>
    /// <param name="turn">Takes the turn of an arm in a round, both from 0.</param>
    /// <param name="cancellationToken">Ends it before the next turn. It is no error.</param>
    /// <param name="after">What follows on a round, and whether another one may begin; <see langword="null"/> for nothing.</param>
    /// <param name="order">The arms in their order in a round, which may have several turns; <see langword="null"/> for <see cref="TrialOrder"/>.</param>
    /// <returns>Whether all rounds were made.</returns>
    public static async Task<bool> TakeTurnsAsync(
        int arms,
        Func<int, bool> begins,
        Func<int, int, Task<RoundEnd>> turn,
        CancellationToken cancellationToken,
        Func<int, Task<bool>>? after = null,
        Func<int, IEnumerable<int>>? order = null)
    {
        for (int round = 0; begins(round); round++)
        {
            foreach (int arm in order?.Invoke(round) ?? TrialOrder.Of(arms, round))
            {
                RoundEnd end = RoundEnd.Again;
                while (end == RoundEnd.Again)
                {
                    if (cancellationToken.IsCancellationRequested)
                    {
                        return false;
                    }

                    end = await turn(arm, round).ConfigureAwait(false);
                }

                if (end == RoundEnd.Over)
                {
                    return false;
                }
            }

            if (after is not null && !await after(round).ConfigureAwait(false))
            {
                return false;
            }
        }

        return true;
    }

    // Those that were set up, all of them, whatever one of them throws.
    private static async Task CleanUpAsync(IReadOnlyList<RoundArm> arms, int first, int end)
    {
        if (first < end)
        {
            try
            {
                await arms[first].CleanUpAsync().ConfigureAwait(false);
            }
            finally
            {
                await CleanUpAsync(arms, first + 1, end).ConfigureAwait(false);
            }
        }
    }
}

/// <summary>What follows on a round of an arm.</summary>
internal enum RoundEnd
{
    /// <summary>The next arm.</summary>
    Next,

    /// <summary>This round of this arm once more, because the machine was disturbed.</summary>
    Again,

    /// <summary>Nothing: the run is over.</summary>
    Over,
}

/// <summary>The order of the arms in each round.</summary>
/// <remarks>
/// Rounds come in pairs, there and back (ABC CBA), so that a machine that steadily grows slower or faster treats all arms alike; each
/// pair begins with another arm (BCA ACB), so that none always follows the same neighbour.
/// </remarks>
internal static class TrialOrder
{
    /// <summary>The order of the arms in one round.</summary>
    /// <param name="arms">How many arms there are.</param>
    /// <param name="round">The round, from 0.</param>
    /// <returns>The index of each arm, once.</returns>
    public static int[] Of(int arms, int round)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(arms);
        ArgumentOutOfRangeException.ThrowIfNegative(round);
        int[] order = new int[arms];
        for (int i = 0; i < arms; i++)
        {
            order[i] = (i + (round / 2)) % arms;
        }

        if (round % 2 == 1)
        {
            Array.Reverse(order);
        }

        return order;
    }
}

/// <summary>One of the things that take turns in a run: its workers, its warm-up, and the use of its windows.</summary>
internal abstract class RoundArm(WorkerRunSpec spec, IWorkload workload, WorkloadCalls? guard = null)
{
    /// <summary>How long the compiler is waited for.</summary>
    protected static readonly TimeSpan CompilerPatience = TimeSpan.FromSeconds(5);

    private static readonly int[] CompilerCalls = CompilerRest.IsDelayed ? [4, 64, 4, 64] : [34, 34];
    private static readonly TimeSpan LongShortWindow = TimeSpan.FromMilliseconds(200);

    public WorkerRunSpec Spec => spec;

    public IWorkload Workload => workload;

    /// <summary>What calls a workload that may hang; <see langword="null"/> for one that does not.</summary>
    protected WorkloadCalls? Guard => guard;

    /// <summary>Sets the workload up and warms it up.</summary>
    /// <returns>Whether there is anything to measure.</returns>
    public abstract Task<bool> PrepareAsync(CancellationToken cancellationToken);

    /// <summary>Measures a window, unless it is not its turn.</summary>
    /// <param name="round">The number of the round, from 1.</param>
    /// <param name="cancellationToken">Ends the window early.</param>
    public abstract Task<RoundEnd> RoundAsync(int round, CancellationToken cancellationToken);

    /// <summary>Does what is to be done after the last round, while the workload is still set up. Not when there was nothing to measure.</summary>
    public virtual Task AfterRoundsAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    /// <summary>Releases the resources of the workload. A failure here does not lose the measurements.</summary>
    public async Task CleanUpAsync()
    {
        if (guard is null)
        {
            await workload.CleanupAsync().ConfigureAwait(false);
        }
        else if (!guard.HasHung)
        {
            await guard.EndsAsync(nameof(IWorkload.CleanupAsync), workload.CleanupAsync).ConfigureAwait(false);
        }
    }

    /// <summary>Runs one window.</summary>
    /// <param name="plan">How it is done.</param>
    /// <param name="cancellationToken">Ends it early.</param>
    /// <param name="other">What its workers do, if not what the arm is.</param>
    /// <param name="waiting">Is told when workers are waited for long.</param>
    protected async Task<WindowOutcome> WindowAsync(
        WindowPlan plan, CancellationToken cancellationToken, IWorkload? other = null, Action<string>? waiting = null)
    {
        // No window pays for the garbage of what was before.
        if (plan.Round > 0 || plan.Whole is null)
        {
            Heap.Collect();
        }

        IWorkload measured = other ?? workload;
        WindowOutcome outcome = await OwnThread.RunAsync(() =>
        {
            CallGuarded(nameof(IWorkload.BeginRoundAsync), () => measured.BeginRoundAsync(cancellationToken), cancellationToken);
            return WindowRunner.Run(spec, measured, plan, cancellationToken, waiting);
        }).ConfigureAwait(false);
        if (spec.FailsFast && outcome.FirstError is { } error)
        {
            ExceptionDispatchInfo.Throw(error);
        }

        return outcome;
    }

    /// <summary>
    /// What the lab itself does once a round would be compiled for good in the thirtieth round or so. So it is called that often before the first one. The
    /// runtime counts calls from 100 ms after code was new, in two stages: once to measure it and once to keep it. Only where operations are short: one of a
    /// second makes a window of a second.
    /// </summary>
    /// <param name="window">Runs a short window, and says whether another one may follow.</param>
    /// <param name="cancellationToken">Ends it.</param>
    protected static async Task CallOftenAsync(Func<Task<bool>> window, CancellationToken cancellationToken)
    {
        long start = Stopwatch.GetTimestamp();
        foreach (int calls in CompilerCalls)
        {
            for (int call = 0; call < calls; call++)
            {
                long before = Stopwatch.GetTimestamp();
                if (cancellationToken.IsCancellationRequested || !await window().ConfigureAwait(false)
                    || Stopwatch.GetElapsedTime(before) > LongShortWindow || Stopwatch.GetElapsedTime(start) > CompilerPatience)
                {
                    return;
                }
            }

            await CompilerRest.WaitAsync(CompilerRest.Longest, cancellationToken).ConfigureAwait(false);
        }
    }

    // The lab's own workloads do not hang.
    private void CallGuarded(string what, Func<ValueTask> call, CancellationToken cancellationToken)
    {
        if (guard is null)
        {
            call().AsTask().GetAwaiter().GetResult();
        }
        else
        {
            guard.Run(what, call, cancellationToken);
        }
    }
}

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

/// <summary>Unmeasured windows until the rate is steady and nothing more is being compiled, or their time is over.</summary>
internal sealed record WarmUp
{
    /// <summary>How many windows there are at least.</summary>
    public int LeastWindows { get; init; } = 1;

    /// <summary>How many operations there are at least.</summary>
    public long LeastOperations { get; init; }

    /// <summary>How long it lasts at least.</summary>
    public TimeSpan Shortest { get; init; }

    /// <summary>How long it lasts at most, unless code is being compiled.</summary>
    public required TimeSpan Longest { get; init; }

    /// <summary>How much longer it lasts at most while code is being compiled.</summary>
    public TimeSpan CompilerPatience { get; init; }

    /// <summary>In how many windows in a row nothing was compiled.</summary>
    public int QuietWindows { get; init; }

    /// <summary>How much slower than the window before a steady one may be, as a share of its rate.</summary>
    public double MostSlower { get; init; } = 0.05;

    /// <summary>How much faster.</summary>
    public double MostFaster { get; init; } = 0.05;

    /// <summary>Whether the compiler is left alone for a while after a window in which it was at work.</summary>
    public bool RestsForCompiler { get; init; }

    public TimeProvider Clock { get; init; } = TimeProvider.System;

    /// <summary>Runs it.</summary>
    /// <param name="window">Runs a window; <see langword="null"/> for one that was given up, after which there is another.</param>
    /// <param name="isOver">Whether it ends whatever the windows say.</param>
    /// <param name="cancellationToken">Ends it after the window that is being measured.</param>
    /// <returns>Whether the rate was steady.</returns>
    public async Task<bool> RunAsync(Func<Task<WindowOutcome?>> window, Func<bool> isOver, CancellationToken cancellationToken)
    {
        long start = Clock.GetTimestamp();
        double lastRate = 0;
        long operations = 0;
        int quiet = 0;
        int done = 0;
        while (!isOver() && !cancellationToken.IsCancellationRequested)
        {
            if (await window().ConfigureAwait(false) is not { } outcome)
            {
                // What was waited for in vain warms nothing up.
                start = Clock.GetTimestamp();
                continue;
            }

            done++;
            operations += outcome.Operations;
            quiet = outcome.Resources.CompiledMethods == 0 ? quiet + 1 : 0;
            double rate = outcome.Rate;
            TimeSpan elapsed = Clock.GetElapsedTime(start);
            bool isEnough = done >= LeastWindows && operations >= LeastOperations && elapsed >= Shortest;
            if (isEnough && quiet >= QuietWindows && rate >= lastRate * (1 - MostSlower) && rate <= lastRate * (1 + MostFaster))
            {
                return true;
            }

            if ((quiet >= QuietWindows && elapsed >= Longest) || elapsed >= Longest + CompilerPatience)
            {
                return false;
            }

            if (quiet == 0 && RestsForCompiler)
            {
                await CompilerRest.WaitAsync(CompilerRest.Longest, cancellationToken).ConfigureAwait(false);
            }

            lastRate = rate;
        }

        return false;
    }
}

/// <summary>
/// What a window's workers allocate themselves, measured beside: threads and loops are made anew for each window, and with few operations their bytes would
/// count for much.
/// </summary>
internal static class IdleWindow
{
    private const int Windows = 5;
    private static readonly TimeSpan Length = TimeSpan.FromMilliseconds(1);

    /// <summary>Bytes of a window in which the workers do nothing: the median of several.</summary>
    /// <param name="spec">The workers.</param>
    /// <param name="asyncGroups">The groups whose operations are awaited.</param>
    /// <param name="count">How many operations each worker does, instead of a time.</param>
    /// <param name="cancellationToken">Stops it.</param>
    /// <param name="like">The operation whose loop is meant, if there is only one; loops of different results differ in size.</param>
    public static long Bytes(
        WorkerRunSpec spec, IReadOnlySet<string> asyncGroups, long? count, CancellationToken cancellationToken, Operation? like = null)
    {
        Operation onThread = like?.Empty() ?? Operation.Of(static () => { });
        Operation awaited = like?.Empty() ?? Operation.OfAsync(static () => default(ValueTask));
        Workload idle = new("idle", c => asyncGroups.Contains(c.Group) ? awaited : onThread);
        WorkerRunSpec unpaced = spec with { RatePerSecond = null, MaxInFlight = null, MeasuresLatency = false };
        WindowPlan plan = new(0, Length, spec.Groups.ToDictionary(static g => g.Name, static _ => 1))
        {
            Whole = count is null ? null : new WholeOperations { Each = count }, HasTimeline = false,
        };

        // Without the first, which allocates what is then there for all that follow.
        long[] bytes = new long[Windows];
        for (int i = -1; i < Windows && !cancellationToken.IsCancellationRequested; i++)
        {
            bytes[Math.Max(i, 0)] = WindowRunner.Run(unpaced, idle, plan, cancellationToken).Bytes;
        }

        Array.Sort(bytes);
        return bytes[Windows / 2];
    }
}

/// <summary>Measures what the loop adds to short operations, again and again in the course of a run, so that it meets the same machine.</summary>
/// <param name="measure">Nanoseconds for an operation that does nothing; 0 when it was stopped.</param>
/// <param name="subtracts">Whether the rate is to be without it, where it can be told.</param>
internal sealed class OverheadMeter(Func<CancellationToken, double> measure, bool subtracts)
{
    private const int FirstWindows = 7;
    private static readonly TimeSpan Length = TimeSpan.FromMilliseconds(3);

    private readonly List<double> _nanoseconds = [];
    private bool? _canSubtract;

    /// <summary>
    /// A meter, with its first windows measured; <see langword="null"/> where there is nothing to measure: operations that are so long that each is timed,
    /// several groups, or a rate, with which the loop waits.
    /// </summary>
    /// <param name="spec">How the run is done.</param>
    /// <param name="operation">One of its operations.</param>
    /// <param name="batch">How many of them go between two looks at the clock.</param>
    /// <param name="cancellationToken">Stops it.</param>
    public static OverheadMeter? Start(WorkerRunSpec spec, Operation operation, int batch, CancellationToken cancellationToken)
    {
        if (batch == 1 || spec.Groups.Count > 1 || spec.RatePerSecond is not null)
        {
            return null;
        }

        string group = spec.Groups[0].Name;
        WorkerRunSpec alone = spec with { Groups = [new WorkerGroup(group, 1)] };
        Operation empty = operation.Empty();
        Workload nothing = new("nothing", _ => empty);
        WindowPlan plan = new(0, Length, new Dictionary<string, int> { [group] = batch }) { HasTimeline = false };
        OverheadMeter meter =
            new(stop => NanosecondsOf(WindowRunner.Run(alone, nothing, plan, stop)), spec is { SubtractsOverhead: true, Workers: 1 } && !operation.IsAsync);
        meter.Take(FirstWindows, cancellationToken);
        return meter._nanoseconds.Count > 0 ? meter : null;
    }

    /// <summary>Measures some times more.</summary>
    public void Take(int windows, CancellationToken cancellationToken)
    {
        for (int i = 0; i < windows && !cancellationToken.IsCancellationRequested; i++)
        {
            if (measure(cancellationToken) is > 0 and double nanoseconds)
            {
                _nanoseconds.Add(nanoseconds);
            }
        }
    }

    /// <summary>Measures once more after a round, if anything depends on it.</summary>
    /// <returns>How many windows there are now.</returns>
    public int TakeAfterRound(CancellationToken cancellationToken)
    {
        Take(subtracts ? 1 : 0, cancellationToken);
        return _nanoseconds.Count;
    }

    /// <summary>The overhead of a round's operations, and whether it is to be subtracted, which the first round decides for all that can.</summary>
    public LoopOverhead Of(double rate)
    {
        LoopOverhead overhead = LoopOverhead.Of(_nanoseconds);
        bool can = overhead.CanBeSubtractedFrom(rate);
        _canSubtract ??= rate > 0 ? can : null;
        return overhead with { IsSubtracted = subtracts && can && _canSubtract == true };
    }

    private static double NanosecondsOf(WindowOutcome outcome) => outcome is { Rate: > 0, IsPartial: false, IsStuck: false } ? 1e9 / outcome.Rate : 0;
}

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
}

/// <summary>Receives the progress of a run. It is called between windows, or while none counts, so it may draw.</summary>
internal interface IRunObserver
{
    /// <summary>The unmeasured warm-up begins.</summary>
    void WarmingUp()
    {
    }

    /// <summary>The warm-up has ended.</summary>
    /// <param name="batch">How many operations are to go between two looks at the clock; <see langword="null"/> with several groups.</param>
    void WarmedUp(int? batch)
    {
    }

    /// <summary>
    /// How many it is to be instead in the rounds, because other runs that take turns have found another number; <see langword="null"/> for its own.
    /// What a look costs is in the rate, so things that are compared must have batches of one size.
    /// </summary>
    int? Batch => null;

    /// <summary>Called before each round, after the warm-up. If several things are measured in turns, the run waits here for its turn.</summary>
    /// <param name="round">The number of the round, from 1.</param>
    /// <param name="cancellationToken">Is cancelled when the run is stopped.</param>
    /// <returns>Whether to measure the round; otherwise the run is complete with those before it.</returns>
    ValueTask<bool> MayStartAsync(int round, CancellationToken cancellationToken) => new(true);

    /// <summary>A round begins.</summary>
    /// <param name="round">Its number, from 1.</param>
    /// <param name="rounds">How many there are.</param>
    void RoundStarted(int round, int rounds)
    {
    }

    void RoundEnded(WorkerRound round, int rounds)
    {
    }

    /// <summary>Called if something has been waited for unusually long. At <see cref="WorkerRunSpec.DrainLimit"/>, the run is abandoned.</summary>
    /// <param name="what">What has not happened yet, such as <c>a worker to end its first operation</c> or <c>SetupAsync to end</c>.</param>
    void Waiting(string what)
    {
    }
}

/// <summary>Runs a window like those of the rounds, which counts in no figure of the run.</summary>
/// <param name="least">How long it is at least; it is never shorter than a round.</param>
/// <returns>How long it was, its rate, and what went wrong in it.</returns>
internal delegate Task<(double Seconds, double Rate, IReadOnlyList<string> Troubles)> ExtraWindow(TimeSpan least);

/// <summary>
/// Makes the calls of a workload outside its operations, such as the set-up. Each call has its own thread, so that a call that never returns can be reported
/// and abandoned.
/// </summary>
/// <param name="name">The name of the workload, for messages.</param>
/// <param name="limit">How long a call may take.</param>
/// <param name="waiting">Is told what is waited for, when a call takes longer than one would expect.</param>
internal sealed class WorkloadCalls(string name, TimeSpan limit, Action<string>? waiting)
{
    // After a run is abandoned, the workload gets some time to notice it.
    private static readonly TimeSpan Grace = TimeSpan.FromSeconds(2);

    /// <summary>When it is told that a call is waited for.</summary>
    public TimeSpan Patience { get; init; } = TimeSpan.FromSeconds(5);

    /// <summary>How long the call that comes last may take; null for as long as the others.</summary>
    public TimeSpan? EndLimit { get; init; }

    /// <summary>Whether a call was abandoned. The workload is not called any more then, because the call may still be running.</summary>
    public bool HasHung { get; private set; }

    /// <summary>Calls, and waits for the end without a thread of the pool, of which the workload may use up all.</summary>
    /// <param name="what">What is called.</param>
    /// <param name="call">Calls it.</param>
    /// <param name="cancellationToken">Ends the waiting soon. The call itself has to know it too.</param>
    /// <exception cref="TimeoutException">It has not ended in time.</exception>
    /// <exception cref="OperationCanceledException">It was cancelled, and has not ended since.</exception>
    public Task RunAsync(string what, Func<ValueTask> call, CancellationToken cancellationToken) => WithinAsync(what, call, limit, cancellationToken);

    /// <summary>Calls what comes last.</summary>
    public async Task EndsAsync(string what, Func<ValueTask> call)
    {
        try
        {
            await WithinAsync(what, call, EndLimit ?? limit, CancellationToken.None).ConfigureAwait(false);
        }
        catch (TimeoutException) when (HasHung)
        {
            // It is abandoned, which is reported with the figures.
        }
    }

    /// <summary>Makes a call as <see cref="RunAsync"/> does, and blocks this thread until it ends.</summary>
    /// <param name="what">What is called.</param>
    /// <param name="call">Calls it.</param>
    /// <param name="cancellationToken">Ends the waiting soon. The call itself has to know it too.</param>
    public void Run(string what, Func<ValueTask> call, CancellationToken cancellationToken) => Within(what, call, limit, cancellationToken);

    private Task<bool> WithinAsync(string what, Func<ValueTask> call, TimeSpan longest, CancellationToken cancellationToken) => OwnThread.RunAsync(() =>
    {
        Within(what, call, longest, cancellationToken);
        return true;
    });

    private void Within(string what, Func<ValueTask> call, TimeSpan longest, CancellationToken cancellationToken)
    {
        Task ended = OwnThread.RunAsync(() => call().AsTask(), ThreadPriority.Normal).Unwrap();
        TimeSpan patience = longest < Patience ? longest : Patience;
        if (!HasEnded(ended, patience, cancellationToken) && !cancellationToken.IsCancellationRequested && longest > patience)
        {
            waiting?.Invoke($"{what} to end");
            HasEnded(ended, longest - patience, cancellationToken);
        }

        if (!ended.IsCompleted && !(cancellationToken.IsCancellationRequested && HasEnded(ended, longest < Grace ? longest : Grace, default)))
        {
            HasHung = true;
            cancellationToken.ThrowIfCancellationRequested();
            throw new TimeoutException(Invariant($"{name}: {what} did not end within {longest.TotalSeconds:0.#} s."));
        }

        ended.GetAwaiter().GetResult();
    }

    private static bool HasEnded(Task call, TimeSpan limit, CancellationToken cancellationToken)
    {
        try
        {
            return call.Wait(limit, cancellationToken);
        }
        catch (AggregateException)
        {
            // What it threw is thrown where its end is taken.
            return true;
        }
        catch (OperationCanceledException)
        {
            return false;
        }
    }
}
