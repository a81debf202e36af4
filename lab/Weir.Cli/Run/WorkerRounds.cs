using System.Runtime.CompilerServices;
using Weir.Cli.Processes;
using Weir.Cli.Results;
using Weir.Cli.Workloads;
using Weir.Lab.Latency;
using Weir.Lab.Workers;

namespace Weir.Cli.Run;

/// <summary>The rounds of one order in this process, by the measuring core.</summary>
internal static class WorkerRounds
{
    /// <summary>Runs the rounds. Their figures come when all have ended, because turning them into text would disturb the next round.</summary>
    /// <param name="order">What to do.</param>
    /// <param name="rate">Gets the rate of each round at once; <see langword="null"/> when nobody wants it.</param>
    /// <param name="waiting">Gets what is waited for; <see langword="null"/> when nobody wants it.</param>
    /// <param name="stop">Ends it.</param>
    public static async IAsyncEnumerable<MeasureAnswer> RunAsync(WorkerOrder order, Action<double>? rate, Action<string>? waiting, [EnumeratorCancellation] CancellationToken stop)
    {
        CollectorMode.Verify(order.Workload.Collector);
        IWorkload workload = WorkloadCatalog.Create(order.Workload);
        WorkerRun run;
        try
        {
            run = await new WorkerRunner(order.Spec(), new Relay(rate, waiting)).RunAsync(workload, stop).ConfigureAwait(false);
        }
        catch (OperationCanceledException) when (stop.IsCancellationRequested)
        {
            // Before anything was measured.
            yield break;
        }

        // What is wrong with a single round has gone with the round.
        string[] troubles = [.. run.Troubles.Where(static t => !t.StartsWith("Round ", StringComparison.Ordinal) && !t.StartsWith("No operation", StringComparison.Ordinal))];
        bool alone = run.Rounds.Count == 1 && troubles.Length > 0 && !run.IsStuck;
        foreach (WorkerRound round in run.Rounds)
        {
            RoundRecord record = Record(round);
            yield return new MeasureAnswer(
                alone && record.Problem is null && !record.Partial ? record with { Problem = string.Join(" ", troubles), Disturbed = true } : record,
                IsStuck: run.IsStuck && round == run.Rounds[^1]);
        }

        if (run.Rounds.Count > 0)
        {
            yield return new MeasureAnswer(
                null,
                [
                    .. alone ? [] : troubles.Select(static t => new Finding(FindingLevel.Invalid, t)),
                    .. run.Warnings.Select(static w => new Finding(FindingLevel.Doubt, w)),
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
        Timeline = [.. round.Timeline.Select(static p => new Results.TimelinePoint(p.Second, p.Rate, p.GcPause.TotalMilliseconds, p.PoolThreads))],
    }.With(round.Resources) with { AllocatedBytes = (long)(round.BytesPerOperation * round.Operations) };

    private sealed class Relay(Action<double>? rate, Action<string>? waiting) : IRunObserver
    {
        // Once before, so that the first round's rate is not the first.
        public void WarmingUp() => rate?.Invoke(0);

        public void RoundStarted(int round, int rounds)
        {
        }

        public void RoundEnded(WorkerRound round, int rounds) => rate?.Invoke(round.Rate);

        public void Waiting(string what) => waiting?.Invoke(what);
    }
}
