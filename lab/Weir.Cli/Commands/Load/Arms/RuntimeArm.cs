namespace Weir.Cli.Commands.Load.Arms;

/// <summary>Pushes all batches through a runtime, and adds up its outcomes.</summary>
internal sealed class RuntimeArm(IExecutionRuntime runtime, LoadWork work, LoadSettings settings)
{
    private IReadOnlyList<AutoDecision>? _firstDecisions;
    private readonly ProcessManyOptions _options = new() { PerItemTimeout = settings.Timeout };

    /// <summary>The number of items that the runtime has completed, including those of a running call.</summary>
    public long ItemsDone
    {
        get
        {
            RuntimeStatistics statistics = runtime.Statistics;
            return statistics.Succeeded + statistics.FailedOrCancelled;
        }
    }

    /// <summary>What the auto runtime decided in its first call and in its last one.</summary>
    public IReadOnlyList<DecisionRecord> Decisions =>
        runtime is not AutoRuntime auto
            ? []
            :
            [
                .. (_firstDecisions ?? []).Select(static decision => Record("first", decision)),
                .. auto.LastDecisions.Select(static decision => Record("last", decision)),
            ];

    public ValueTask<PassResult> RunAsync(ItemBatches batches, CancellationToken cancellationToken) =>
        settings.PreserveOrder ? RunArraysAsync(batches, cancellationToken) : RunStreamsAsync(batches, cancellationToken);

    private async ValueTask<PassResult> RunArraysAsync(ItemBatches batches, CancellationToken cancellationToken)
    {
        OutcomeTally tally = new(work);
        for (long first = 0; first < batches.Count; first += batches.BatchSize)
        {
            ItemOutcome<int, int>[] outcomes = await runtime.ProcessManyAsync(batches.From((int)first), work.Processor, _options, cancellationToken);
            tally.Add(outcomes, (int)first);
            KeepFirst();
        }

        return tally.Result;
    }

    private async ValueTask<PassResult> RunStreamsAsync(ItemBatches batches, CancellationToken cancellationToken)
    {
        OutcomeTally tally = new(work);
        for (long first = 0; first < batches.Count; first += batches.BatchSize)
        {
            await foreach ((int index, ItemOutcome<int, int> outcome) in runtime.ProcessManyStreamAsync(
                batches.From((int)first), work.Processor, orderedOutput: false, _options, cancellationToken))
            {
                tally.Add(outcome, (int)first + index);
            }

            KeepFirst();
        }

        return tally.Result;
    }

    private static DecisionRecord Record(string call, AutoDecision decision) => new()
    {
        Call = call,
        AtSeconds = Math.Round(decision.At.TotalSeconds, 6),
        Items = decision.Items,
        From = decision.From.ToString().ToLowerInvariant(),
        To = decision.To.ToString().ToLowerInvariant(),
        Threads = decision.Threads,
        InFlight = decision.InFlight,
        Reason = decision.Reason,
    };

    private void KeepFirst()
    {
        if (_firstDecisions is null && runtime is AutoRuntime auto)
        {
            _firstDecisions = auto.LastDecisions;
        }
    }
}
