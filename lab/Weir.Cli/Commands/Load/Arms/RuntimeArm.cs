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
            return statistics.Succeeded + statistics.Failed + statistics.Cancelled;
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

    public async ValueTask<PassResult> RunAsync(ItemBatches batches, CancellationToken cancellationToken)
    {
        OutcomeTally tally = new(work);
        for (long first = 0; first < batches.Count; first += batches.BatchSize)
        {
            int[] items = batches.From((int)first);
            if (settings.PreserveOrder)
            {
                tally.Add(await runtime.ProcessManyAsync(items, work.Processor, _options, cancellationToken), (int)first);
            }
            else
            {
                await foreach ((int index, ItemOutcome<int, int> outcome) in runtime.ProcessManyStreamAsync(
                    items, work.Processor, orderedOutput: false, _options, cancellationToken))
                {
                    tally.Add(outcome, (int)first + index);
                }
            }

            _firstDecisions ??= (runtime as AutoRuntime)?.LastDecisions;
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
}
