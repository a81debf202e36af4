using Weir.Lab.Work;

namespace Weir.Cli.Measuring;

/// <summary>Measures orders over workloads, and makes a result of their rounds.</summary>
internal sealed class WorkerArms(WeirHost host, string command, IReadOnlyList<string> arguments)
{
    private const string Unit = "operations";

    // The maximum, in seconds. The warm-up ends when the rate is steady; on a machine where it never is, the warm-up takes no longer than the rounds. With a
    // process for each round, each round has a warm-up.
    private const double LongWarmUp = 3;
    private const double ShortWarmUp = 1;

    /// <summary>Measures, each round or each arm in a process of its own.</summary>
    /// <param name="orders">The arms. Those of one name differ in their workers.</param>
    /// <param name="settings">The settings that they share.</param>
    /// <param name="turns">How many processes each arm gets, one after the other, in turns with the other arms.</param>
    /// <param name="progress">Is told of each round.</param>
    /// <exception cref="OperationCanceledException">It was stopped before any round had ended.</exception>
    public async Task<ResultFile> MeasureAsync(IReadOnlyList<WorkerOrder> orders, RunSettings settings, int turns, RunProgress progress)
    {
        Arms<WorkerOrder> arms = new(host, MeasuringProcess.WorkerKind, static (order, stop) => WorkerRounds.RunAsync(order, report: null, turns: null, stop),
            Unit, static order => order.Variables());
        ResultFile result = await MeasureAsync(
            [
                .. orders.Select(o => o.With(run => run with
                {
                    LongestWarmUp = host.Measure.LongestWarmUp
                        ?? TimeSpan.FromSeconds(turns > 1 ? ShortWarmUp : Math.Clamp(run.Rounds * run.Duration.TotalSeconds, ShortWarmUp, LongWarmUp)),
                    MostRepeats = host.Measure.MostRepeats ?? (turns > 1 ? 1 : 3),
                })),
            ],
            SettingTexts.Of(orders[0].Spec(), settings.Rounds, isolated: turns > 1),
            orders.Sum(o => o.Run.Rounds * turns),
            async calibrated =>
            {
                IReadOnlyList<IReadOnlyList<RoundRecord>> rounds = await arms.MeasureAsync(
                    [.. calibrated.Select(static o => ($"{o.Name} x {o.Workers}", o))], turns, orders[0].Run.Rounds, progress);
                return (rounds, arms.Findings);
            });
        return result.With(arms.Profiles);
    }

    /// <summary>Measures in processes that stay and take turns.</summary>
    /// <exception cref="OperationCanceledException">It was stopped before any round had ended.</exception>
    public Task<ResultFile> MeasureInTurnsAsync(
        IReadOnlyList<WorkerOrder> orders, RunSettings settings,
        Func<IReadOnlyList<WorkerOrder>, Task<(IReadOnlyList<IReadOnlyList<RoundRecord>> Rounds, IReadOnlyList<Finding> Findings)>> measure) => MeasureAsync(
        [.. orders.Select(o => o.With(run => run with { LongestWarmUp = host.Measure.LongestWarmUp ?? TimeSpan.FromSeconds(ShortWarmUp), MostRepeats = 0 }))],
        SettingTexts.Of(orders[0].Spec(), settings.Rounds, isolated: true),
        1,
        measure);

    private async Task<ResultFile> MeasureAsync(
        IReadOnlyList<WorkerOrder> orders,
        IReadOnlyDictionary<string, string> settings,
        int least,
        Func<IReadOnlyList<WorkerOrder>, Task<(IReadOnlyList<IReadOnlyList<RoundRecord>> Rounds, IReadOnlyList<Finding> Findings)>> measure)
    {
        DateTimeOffset startedAt = host.Measure.Clock.GetLocalNow();
        long start = Stopwatch.GetTimestamp();
        using MachineLock? alone = MachineLock.TryTake();
        Lazy<double> steps = new(CalibratedSpin.MeasureStepsPerSecond);
        bool areSingle = orders.All(static o => o.Workers == 1);
        orders =
        [
            .. orders.Select(o => o with
            {
                Workload = WorkloadCatalog.Calibrated(o.Workload, steps), Run = o.Run with { SubtractsOverhead = areSingle },
            }),
        ];
        (IReadOnlyList<IReadOnlyList<RoundRecord>> rounds, IReadOnlyList<Finding> findings) = await measure(orders);
        int done = rounds.Sum(static r => r.Count(static x => !x.Partial));
        if (done == 0 && host.Stop.IsCancellationRequested)
        {
            throw new OperationCanceledException(host.Stop);
        }

        ArmRecord[] arms = [.. orders.Select((o, i) => Arm(o, rounds[i]))];
        return ResultFile.Here(
            command, arguments, string.Join(" and ", orders.Select(static o => WorkloadCatalog.Text(o.Workload)).Distinct()), Unit, startedAt) with
        {
            Seconds = Stopwatch.GetElapsedTime(start).TotalSeconds,
            Partial = done < least || host.Stop.IsCancellationRequested,
            Settings = settings,
            Arms = arms,
            Findings = [.. Finding.OtherMeasurement(alone), .. RunRecords.Problems(arms), .. Finding.EachOnce(findings)],
        };
    }

    private static ArmRecord Arm(WorkerOrder order, IReadOnlyList<RoundRecord> rounds) => new()
    {
        Name = order.Name,
        Workers = order.Workers,
        Varied = order.Workload.Varied,
        Settings = new Dictionary<string, string>(order.Workload.Parameters()) { ["knobs"] = order.Spec().ParameterHash },
        Rounds = rounds,
    };
}

/// <summary>
/// Measures groups of arms one group after the other. Only the arms of one group take turns, so that not all processes have to stay alive at once.
/// </summary>
internal static class ArmGroups
{
    /// <summary>Measures.</summary>
    /// <param name="orders">All arms.</param>
    /// <param name="sizes">How many arms each group has, in their order.</param>
    /// <param name="measure">Measures the arms of one group, given its number.</param>
    /// <param name="stop">Ends it before the next group.</param>
    /// <returns>The rounds of each arm, numbered in the order in which they were made.</returns>
    public static async Task<(IReadOnlyList<IReadOnlyList<RoundRecord>> Rounds, IReadOnlyList<Finding> Findings)> MeasureAsync(
        IReadOnlyList<WorkerOrder> orders,
        IReadOnlyList<int> sizes,
        Func<int, IReadOnlyList<WorkerOrder>, Task<(IReadOnlyList<IReadOnlyList<RoundRecord>> Rounds, IReadOnlyList<Finding> Findings)>> measure,
        CancellationToken stop)
    {
        List<IReadOnlyList<RoundRecord>> rounds = [];
        List<Finding> findings = [];
        int made = 0;
        for (int group = 0; group < sizes.Count; group++)
        {
            if (stop.IsCancellationRequested)
            {
                rounds.AddRange(Enumerable.Repeat<IReadOnlyList<RoundRecord>>([], orders.Count - rounds.Count));
                break;
            }

            (IReadOnlyList<IReadOnlyList<RoundRecord>> own, IReadOnlyList<Finding> said) =
                await measure(group, [.. orders.Skip(rounds.Count).Take(sizes[group])]);
            int before = made;
            rounds.AddRange(own.Select(arm => (IReadOnlyList<RoundRecord>)[.. arm.Select(r => r with { Order = r.Order + before })]));
            findings.AddRange(said);
            made = rounds.SelectMany(static r => r).Select(static r => r.Order).DefaultIfEmpty().Max();
        }

        return (rounds, findings);
    }
}

/// <summary>Measures arms in turns. Each arm has several processes that stay alive, so that the rounds include the differences between processes.</summary>
/// <param name="host">Whether there are processes, and what stops them.</param>
/// <param name="rounds">How many rounds each arm makes.</param>
/// <param name="mostProcesses">How many processes each arm has at most.</param>
/// <param name="progress">Is told of each round.</param>
/// <param name="end">Returns, given the rates of each arm, why to end early; <see langword="null"/> to continue.</param>
/// <param name="within">The time limit, after at least two rounds of each arm; <see langword="null"/> for none.</param>
internal sealed class ArmTurns(
    WeirHost host, int rounds, int mostProcesses, RunProgress progress, Func<IReadOnlyList<IReadOnlyList<double>>, string?>? end = null,
    TimeSpan? within = null)
{
    /// <summary>The minimum number of rounds of each arm, and the minimum for a conclusion: one round may be chance.</summary>
    public const int LeastTurns = 2;

    /// <summary>What a round after the last showed under a profiler, by the number of the arm, from 0; without such rounds nothing.</summary>
    public IReadOnlyDictionary<int, ProfileRecord> Profiles { get; private set; } = new Dictionary<int, ProfileRecord>();

    /// <summary>Measures.</summary>
    /// <returns>The rounds of each, and what has to be known about them.</returns>
    /// <exception cref="InvalidOperationException">A process could not measure.</exception>
    public async Task<(IReadOnlyList<IReadOnlyList<RoundRecord>> Rounds, IReadOnlyList<Finding> Findings)> MeasureAsync(IReadOnlyList<WorkerOrder> orders)
    {
        long began = Stopwatch.GetTimestamp();
        int processes = Math.Min(rounds, mostProcesses);
        TurnSessions sessions = new(host, orders, processes, orders.Count * rounds, progress);
        await sessions.WarmUpAsync();
        Finding? ended = await TakeTurnsAsync(sessions, orders.Count, processes, began);
        (IReadOnlyList<IReadOnlyList<RoundRecord>> measured, IReadOnlyList<Finding> findings) = await sessions.EndAsync();
        Profiles = sessions.Profiles();
        return (measured, ended is null ? findings : [ended, .. findings]);
    }

    // Why it has ended early, if it has.
    private async Task<Finding?> TakeTurnsAsync(TurnSessions sessions, int arms, int processes, long began)
    {
        Finding? ended = null;
        TimeSpan longest = TimeSpan.Zero;
        long from = 0;
        List<double>[] rates = [.. Enumerable.Range(0, arms).Select(static _ => new List<double>())];
        await RoundRunner.TakeTurnsAsync(arms, Begins, TurnAsync, CancellationToken.None);
        return ended;

        bool Begins(int turn)
        {
            long now = Stopwatch.GetTimestamp();
            longest = turn == 0 ? longest : TimeSpan.FromTicks(Math.Max(longest.Ticks, Stopwatch.GetElapsedTime(from, now).Ticks));
            from = now;
            ended = turn == 0 || turn >= rounds ? null
                : end?.Invoke(rates) is { } why ? new Finding(FindingLevel.Doubt, why, FindingKind.Scaling)
                : turn >= LeastTurns && Stopwatch.GetElapsedTime(began, now) + longest > within ? new Finding(
                    FindingLevel.Note, $"The run ended after {turn} of {rounds} rounds each, because its time was up; --within gives it more.")
                : null;
            return turn < rounds && ended is null;
        }

        async Task<RoundEnd> TurnAsync(int arm, int turn)
        {
            if (await sessions.RoundAsync(arm, turn % processes, turn) is not { Rate: { } rate })
            {
                return RoundEnd.Over;
            }

            rates[arm].Add(rate);
            return RoundEnd.Next;
        }
    }
}
