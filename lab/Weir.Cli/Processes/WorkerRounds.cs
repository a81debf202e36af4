using System.Runtime.CompilerServices;
using Weir.Cli.Workloads;
using Weir.Lab.Latency;
using Weir.Lab.Results;
using Weir.Lab.Workers;

namespace Weir.Cli.Processes;

/// <summary>The rounds of one order in this process, by the measuring core.</summary>
internal static class WorkerRounds
{
    /// <summary>Runs the rounds. Their figures come when all have ended, because turning them into text would disturb the next round.</summary>
    /// <param name="order">What to do.</param>
    /// <param name="tell">Gets at once how it goes on; <see langword="null"/> when nobody wants it.</param>
    /// <param name="turns">Where it waits for its turns, if it takes any.</param>
    /// <param name="stop">Ends it.</param>
    public static async IAsyncEnumerable<MeasureAnswer> RunAsync(WorkerOrder order, Action<MeasureAnswer>? tell, TurnGate? turns, [EnumeratorCancellation] CancellationToken stop)
    {
        CollectorMode.Verify(order.Workload.Collector);
        IWorkload workload = WorkloadCatalog.Create(order.Workload);
        WorkerRunSpec spec = order.Spec();
        WorkerRun run;
        try
        {
            run = await new WorkerRunner(spec, tell is null ? null : new RoundTeller(tell, spec.MostCompiling, order.TakesTurns ? turns : null)).RunAsync(workload, stop).ConfigureAwait(false);
        }
        catch (OperationCanceledException) when (stop.IsCancellationRequested)
        {
            // Before anything was measured.
            yield break;
        }

        // What is wrong with a single round has gone with the round.
        IReadOnlyList<RunRemark> troubles = run.SharedTroubles;
        bool alone = run.Rounds.Count == 1 && !order.TakesTurns && troubles.Count > 0 && !run.IsStuck;
        foreach (WorkerRound round in run.Rounds)
        {
            RoundRecord record = Record(round);
            if (order.TakesTurns && round.CompilingShare > spec.MostCompiling && record.Problem is null)
            {
                record = record with { Problem = "code was being compiled", Disturbed = true };
            }

            yield return new MeasureAnswer(
                alone && record.Problem is null && !record.Partial ? record with { Problem = string.Join(" ", troubles), Disturbed = true } : record,
                IsStuck: run.IsStuck && round == run.Rounds[^1]);
        }

        if (run.Rounds.Count > 0)
        {
            yield return new MeasureAnswer(
                null,
                [
                    .. alone ? [] : troubles.Select(static t => Finding.Of(t, FindingLevel.Invalid)),
                    .. run.Warnings.Select(static w => Finding.Of(w, FindingLevel.Doubt)),
                ]);
        }
    }

    internal static RoundRecord Record(WorkerRound round) => new RoundRecord
    {
        Partial = round.IsPartial,
        Problem = round.IsPartial || round.Troubles.Count == 0 ? null : string.Join(" ", round.Troubles),
        Operations = round.Operations,
        Seconds = round.Seconds,
        Rate = round.Rate,
        Failures = round.Failures,
        OverheadNs = round.Overhead?.Nanoseconds,
        OverheadSubtracted = round.Overhead is { IsSubtracted: true },
        Open = round.InFlight.Average,
        OpenMax = round.InFlight.Max,
        Service = round.Service is { } service ? HistogramCodec.Encode(service.Histogram) : null,
        Response = round.Response is { } response ? HistogramCodec.Encode(response.Histogram) : null,
        LateStarts = round.Pacing?.LateStarts,
        Dropped = round.Pacing?.Dropped,
        PerWorker = round.Pacing is null ? [.. round.Workers.Select(static w => w.Operations)] : [],
        LongestGapSeconds = round.Pacing is null && round.Workers.Count > 0 ? round.Workers.Max(static w => w.LongestGap.TotalSeconds) : null,
        CanarySlowness = round.Canary.Slowness,
        CanaryVariation = round.Canary.Variation,
        Timeline = [.. round.Timeline.Select(static p => new TimelineRecord(p.Second, p.Rate, p.GcPause.TotalMilliseconds, p.PoolThreads))],
    }.With(round.Resources) with { AllocatedBytes = (long)(round.BytesPerOperation * round.Operations) };
}
