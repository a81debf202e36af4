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
