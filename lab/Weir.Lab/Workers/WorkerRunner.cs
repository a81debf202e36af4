using System.Diagnostics;
using Weir.Lab.Latency;
using Weir.Lab.Resources;

namespace Weir.Lab.Workers;

/// <summary>Runs a workload with many workers: warm-up until steady, then the rounds, each with the canary before it.</summary>
/// <remarks>The rounds share the process. Things that leave something behind, such as a grown thread pool, are compared over processes.</remarks>
public sealed class WorkerRunner
{
    private const int LeastWarmUps = 3;
    private const int CanaryPieces = 40;
    private const int MostColdRounds = 3;
    private const double SteadyWithin = 0.05;
    private static readonly TimeSpan WarmUpWindow = TimeSpan.FromMilliseconds(150);
    private static readonly int[] CompilerCalls = CompilerRest.IsDelayed ? [4, 64, 4, 64] : [34, 34];
    private static readonly TimeSpan WarmUpWindowOfTurns = TimeSpan.FromMilliseconds(30);
    private static readonly TimeSpan LongShortWindow = TimeSpan.FromMilliseconds(200);
    private static readonly TimeSpan ShortWindow = TimeSpan.FromMilliseconds(1);
    private static readonly TimeSpan CompilerPatience = TimeSpan.FromSeconds(5);
    private static readonly TimeSpan LongestRest = TimeSpan.FromSeconds(1);

    /// <summary>
    /// Environment variables with which a process gets warm sooner: the runtime counts calls from the first on, and not only when no new code has been called for 100 ms. The code is compiled as
    /// without them, only earlier.
    /// </summary>
    public static IReadOnlyDictionary<string, string> ProcessVariables { get; } = new Dictionary<string, string> { [CompilerRest.DelayVariable] = "0" };

    private readonly WorkerRunSpec _spec;
    private readonly IRunObserver? _observer;
    private readonly Func<CanaryReading> _canary;

    /// <summary>Creates a runner.</summary>
    /// <param name="spec">How the run is done.</param>
    /// <param name="observer">Hears how the run goes on.</param>
    /// <exception cref="ArgumentException">A value of <paramref name="spec"/> is outside its range.</exception>
    public WorkerRunner(WorkerRunSpec spec, IRunObserver? observer = null)
        : this(spec, observer, spec?.TakesTurns == true ? static () => default : static () => Canary.Read(CanaryPieces))
    {
    }

    internal WorkerRunner(WorkerRunSpec spec, IRunObserver? observer, Func<CanaryReading> canary)
    {
        ArgumentNullException.ThrowIfNull(spec);
        spec.Validate();
        _spec = spec;
        _observer = observer;
        _canary = canary;
    }

    /// <summary>Runs the workload.</summary>
    /// <param name="workload">The workload.</param>
    /// <param name="cancellationToken">Stops the run. It is not an error: the result has what was done so far, marked as partial.</param>
    /// <returns>What was measured. Whatever makes it invalid stands in <see cref="WorkerRun.Troubles"/>.</returns>
    /// <exception cref="ArgumentException">The operations of a group are neither all synchronous nor all asynchronous.</exception>
    /// <exception cref="TimeoutException">What prepares the workload or a round did not end within <see cref="WorkerRunSpec.DrainLimit"/>. It was left behind, and the workload is not cleaned up.</exception>
    /// <exception cref="OperationCanceledException">It was stopped before the first round.</exception>
    public async Task<WorkerRun> RunAsync(IWorkload workload, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(workload);
        WorkloadCalls guard = new(workload.Name, _spec.DrainLimit, what => _observer?.Waiting(what));
        DateTimeOffset started = DateTimeOffset.Now;
        long begin = Stopwatch.GetTimestamp();
        if (_spec.MinThreads is int least)
        {
            ThreadPool.GetMinThreads(out int workers, out int ports);
            ThreadPool.SetMinThreads(Math.Max(least, workers), ports);
        }

        List<WorkerRound> rounds = [];
        WarmUpEnd warm;
        CanaryReading after;
        int repeats = 0;
        int coldRounds = 0;
        bool isStuck = false;
        bool isOver = false;
        int asked = 0;
        try
        {
            await guard.RunAsync(nameof(IWorkload.SetupAsync), () => workload.SetupAsync(_spec, cancellationToken), cancellationToken).ConfigureAwait(false);
            _observer?.WarmingUp();
            warm = await WarmUpAsync(workload, guard, cancellationToken).ConfigureAwait(false);
            after = _canary();
            if (warm.Stuck is not null)
            {
                isStuck = true;
                rounds.Add(RoundOf(warm.Stuck, 1, begin, after, workload));
            }

            while (!isStuck && rounds.Count < _spec.Rounds && !cancellationToken.IsCancellationRequested)
            {
                int round = rounds.Count + 1;
                // Once for each: a round that is done again has not given up its turn.
                if (_observer is not null && asked < round && !await _observer.MayStartAsync(round, cancellationToken).ConfigureAwait(false))
                {
                    isOver = !cancellationToken.IsCancellationRequested;
                    break;
                }

                asked = round;
                CanaryReading before = after;
                _observer?.RoundStarted(round, _spec.Rounds);
                WindowOutcome outcome;
                try
                {
                    outcome = await WindowAsync(workload, guard, new WindowPlan(round, _spec.Duration, warm.Batches), cancellationToken).ConfigureAwait(false);
                }
                catch (OperationCanceledException) when (cancellationToken.IsCancellationRequested)
                {
                    // Before it began: the rounds before it are there all the same.
                    break;
                }

                WorkerRound result = RoundOf(outcome, round, begin, before, workload, warm);
                if (warm.Overhead is { } overhead && !outcome.IsPartial && !outcome.IsStuck)
                {
                    await OwnThread.RunAsync(() => overhead.TakeAfterRound(cancellationToken)).ConfigureAwait(false);
                }

                after = _canary();
                isStuck = outcome.IsStuck;
                if (!(before.IsQuiet && after.IsQuiet) && repeats < _spec.MostRepeats && !outcome.IsPartial && !isStuck)
                {
                    repeats++;
                    continue;
                }

                // By the condition, never by the rate: code that became old enough in this round is compiled in the next.
                if (RunChecks.WasCompiling(result, _spec) && coldRounds < MostColdRounds && _spec.LongestWarmUp > TimeSpan.Zero && !outcome.IsPartial && !isStuck)
                {
                    coldRounds++;
                    continue;
                }

                rounds.Add(result);
                _observer?.RoundEnded(result, _spec.Rounds);
            }
        }
        finally
        {
            // What was measured is not lost because of what comes after it.
            if (!guard.HasHung)
            {
                await guard.EndsAsync(nameof(IWorkload.CleanupAsync), workload.CleanupAsync).ConfigureAwait(false);
            }
        }

        WorkerRun run = new()
        {
            Spec = _spec,
            Machine = MachineInfo.Read(),
            Started = started,
            Rounds = rounds,
            CanaryAfter = after,
            Repeats = repeats,
            ColdRounds = coldRounds,
            Service = LatencySummary.Merge(rounds.Select(static r => r.Service)),
            Response = LatencySummary.Merge(rounds.Select(static r => r.Response)),
            ClockCostNanoseconds = Clock.MeasureReadCost(),
            WasSteady = warm.WasSteady,
            IsPartial = (rounds.Count < _spec.Rounds && !isOver) || rounds.Any(static r => r.IsPartial),
            IsStuck = isStuck,
            IsCleanedUp = !guard.HasHung,
        };
        return run with { Troubles = RunChecks.Troubles(run), SharedTroubles = RunChecks.Shared(run), Warnings = RunChecks.Warnings(run) };
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

    private async Task<WarmUpEnd> WarmUpAsync(IWorkload workload, WorkloadCalls guard, CancellationToken cancellationToken)
    {
        Dictionary<string, int> batches = _spec.Groups.ToDictionary(static g => g.Name, static _ => 1);
        if (await CallOftenAsync(workload, guard, batches, cancellationToken).ConfigureAwait(false) is { } stuck)
        {
            return new WarmUpEnd(batches, false, Stuck: stuck);
        }

        long start = Stopwatch.GetTimestamp();
        double lastRate = 0;
        int quiet = 0;
        long? idle = null;

        // A round in which code is compiled is no round at all, so more time goes into that than into a steady rate.
        TimeSpan longest = _spec.LongestWarmUp > TimeSpan.Zero ? _spec.LongestWarmUp + CompilerPatience : TimeSpan.Zero;
        for (int done = 1; !cancellationToken.IsCancellationRequested; done++)
        {
            // All that a round does, so that nothing of the lab itself is compiled in a round either.
            CanaryReading canary = Canary.Read(2);
            WindowOutcome outcome = await WindowAsync(workload, guard, new WindowPlan(0, _spec.TakesTurns ? WarmUpWindowOfTurns : WarmUpWindow, batches), cancellationToken).ConfigureAwait(false);
            if (outcome.IsStuck)
            {
                return new WarmUpEnd(batches, false, Stuck: outcome);
            }

            double rate = outcome.Rate;
            _ = RoundOf(outcome, 0, start, canary, workload);
            quiet = outcome.Resources.CompiledMethods == 0 ? quiet + 1 : 0;
            bool steady = done >= LeastWarmUps && quiet >= 2 && (_spec.TakesTurns || Math.Abs(rate - lastRate) <= lastRate * SteadyWithin);
            if (_spec.RatePerSecond is null)
            {
                batches = outcome.Groups().ToDictionary(static g => g.Name, static g => BatchOf(g.Rate > 0 ? g.Workers * 1e9 / g.Rate : 0));
            }

            TimeSpan elapsed = Stopwatch.GetElapsedTime(start);
            idle ??= await OwnThread.RunAsync(() => IdleWindow.Bytes(_spec, outcome.AsyncGroups, null, cancellationToken)).ConfigureAwait(false);
            if (steady || (quiet >= 2 && elapsed >= _spec.LongestWarmUp) || elapsed >= longest)
            {
                // Last, when the empty operation is compiled for good too.
                OverheadMeter? overhead = await OwnThread.RunAsync(() => OverheadMeter.Start(_spec, outcome.First!, batches[_spec.Groups[0].Name], cancellationToken)).ConfigureAwait(false);
                return new WarmUpEnd(batches, steady, idle.Value, overhead);
            }

            if (quiet == 0)
            {
                await CompilerRest.WaitAsync(LongestRest, cancellationToken).ConfigureAwait(false);
            }

            lastRate = rate;
        }

        return new WarmUpEnd(batches, false, idle ?? 0);
    }

    // What the lab itself does once a round would be compiled for good in the thirtieth round or so. So it is called that often before the first one. The runtime counts calls from 100 ms
    // after code was new, in two stages: once to measure it and once to keep it. Only where operations are short: one of a second makes a window of a second. Returns the window in which a worker stood still.
    private async Task<WindowOutcome?> CallOftenAsync(IWorkload workload, WorkloadCalls guard, Dictionary<string, int> batches, CancellationToken cancellationToken)
    {
        long start = Stopwatch.GetTimestamp();
        foreach (int calls in CompilerCalls)
        {
            for (int call = 0; call < calls; call++)
            {
                if (_spec.LongestWarmUp == TimeSpan.Zero || cancellationToken.IsCancellationRequested)
                {
                    return null;
                }

                long before = Stopwatch.GetTimestamp();
                WindowOutcome outcome = await WindowAsync(workload, guard, new WindowPlan(0, ShortWindow, batches), cancellationToken).ConfigureAwait(false);
                if (outcome.IsStuck)
                {
                    return outcome;
                }

                _ = RoundOf(outcome, 0, start, default, workload);
                if (Stopwatch.GetElapsedTime(before) > LongShortWindow || Stopwatch.GetElapsedTime(start) > CompilerPatience)
                {
                    return null;
                }
            }

            await CompilerRest.WaitAsync(LongestRest, cancellationToken).ConfigureAwait(false);
        }

        return null;
    }

    private Task<WindowOutcome> WindowAsync(IWorkload workload, WorkloadCalls guard, WindowPlan plan, CancellationToken cancellationToken)
    {
        // No window pays for the garbage of what was before.
        Heap.Collect();
        return OwnThread.RunAsync(() =>
        {
            guard.Run(nameof(IWorkload.BeginRoundAsync), () => workload.BeginRoundAsync(cancellationToken), cancellationToken);
            return WindowRunner.Run(_spec, workload, plan, cancellationToken, what => _observer?.Waiting("a worker to " + what));
        });
    }

    private static WorkerRound RoundOf(WindowOutcome outcome, int round, long begin, CanaryReading canary, IWorkload workload, WarmUpEnd? warm = null)
    {
        LoopOverhead? overhead = warm?.Overhead?.Of(outcome.Rate);
        double RateOf(double rate) => overhead is { IsSubtracted: true } ? overhead.Without(rate) : rate;
        List<string> troubles = [.. outcome.Troubles];
        if (outcome.Failures > 0)
        {
            Exception first = outcome.Slots.Select(static s => s.FirstError).First(static e => e is not null)!;
            troubles.Add(FormattableString.Invariant($"{outcome.Failures:N0} operations failed, the first with {first.GetType().Name}: {first.Message}"));
        }

        // What a stopped round left undone is no fault of the workload.
        if (!outcome.IsPartial && workload.Check(outcome.Totals()) is string wrong)
        {
            troubles.Add(wrong);
        }

        return new WorkerRound
        {
            Round = round,
            StartSecond = Clock.Nanoseconds(begin, outcome.Begin) / 1e9,
            Seconds = outcome.Seconds,
            Operations = outcome.Operations,
            Rate = RateOf(outcome.Rate),
            Executed = outcome.Executed,
            Failures = outcome.Failures,
            Groups = [.. outcome.Groups().Select(g => g with { Rate = RateOf(g.Rate) })],
            Overhead = overhead,
            Workers = outcome.Workers(),
            Service = outcome.Service is null ? null : new LatencySummary(outcome.Service),
            Response = outcome.Response is null ? null : new LatencySummary(outcome.Response),
            InFlight = outcome.InFlight,
            Pacing = outcome.Pacing,
            Resources = outcome.Resources,
            BytesPerOperation = (double)Math.Max(0, outcome.Bytes - (warm?.IdleBytes ?? 0)) / Math.Max(1, outcome.Executed),
            Timeline = outcome.Timeline,
            Canary = canary,
            Troubles = troubles,
            IsPartial = outcome.IsPartial,
        };
    }

    private sealed record WarmUpEnd(IReadOnlyDictionary<string, int> Batches, bool WasSteady, long IdleBytes = 0, OverheadMeter? Overhead = null, WindowOutcome? Stuck = null);
}
