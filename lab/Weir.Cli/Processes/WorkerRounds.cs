using Weir.Cli.Profiling;

namespace Weir.Cli.Processes;

/// <summary>The rounds of one order in this process, by the measuring core.</summary>
internal static class WorkerRounds
{
    /// <summary>Runs the rounds. Their figures are sent when all have ended, because formatting them would disturb the next round.</summary>
    /// <param name="order">What to do.</param>
    /// <param name="tell">Gets the progress at once; <see langword="null"/> for none.</param>
    /// <param name="turns">Where it waits for its turns, if it takes any.</param>
    /// <param name="stop">Ends it.</param>
    public static async IAsyncEnumerable<MeasureAnswer> RunAsync(
        WorkerOrder order, Action<MeasureAnswer>? report, TurnSignal? turns, [EnumeratorCancellation] CancellationToken stop)
    {
        CollectorMode.Verify(order.Workload.Collector);
        IWorkload workload = WorkloadCatalog.Create(order.Workload);
        WorkerRunSpec spec = order.Spec();
        using ProfiledRound? profiled = order.IsProfiled ? new ProfiledRound() : null;
        WorkerRun run;
        try
        {
            WorkerRunner runner = new(spec, report is null ? null : new RoundReporter(report, spec.MostCompiling, spec.TakesTurns ? turns : null))
            {
                AfterRounds = profiled is null ? null : profiled.RunAsync,
            };
            run = await runner.RunAsync(workload, stop);
        }
        catch (OperationCanceledException) when (stop.IsCancellationRequested)
        {
            // Before anything was measured.
            yield break;
        }

        IReadOnlyList<RoundRecord> rounds = RunRecords.Rounds(run);
        foreach (RoundRecord round in rounds)
        {
            yield return new MeasureAnswer(round, IsStuck: run.IsStuck && ReferenceEquals(round, rounds[^1]));
        }

        if (rounds.Count > 0)
        {
            yield return new MeasureAnswer(null, RunRecords.Findings(run));
        }

        // Last: it takes a while, and stopping it then does not lose the rounds.
        if (profiled is not null && !stop.IsCancellationRequested)
        {
            ProfileRecord? profile = profiled.Read([.. rounds.Select(static r => r.Rate)]);
            yield return new MeasureAnswer(Findings: profiled.Findings, Profile: profile);
        }
    }
}
