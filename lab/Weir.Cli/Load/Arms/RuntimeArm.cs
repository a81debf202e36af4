using Weir.Cli.Load.Work;
using Weir.Lab.Trials;
using Weir.Runtimes;

namespace Weir.Cli.Load.Arms;

/// <summary>Pushes all batches through a runtime, and adds up its outcomes.</summary>
internal sealed class RuntimeArm(IExecutionRuntime runtime, LoadWork work, LoadKnobs knobs)
{
    private readonly ProcessManyOptions _options = new() { ItemTimeout = knobs.Timeout };

    /// <summary>How many items the runtime has done, also within a call that is under way.</summary>
    public long ItemsDone
    {
        get
        {
            RuntimeStatistics statistics = runtime.Statistics;
            return statistics.Succeeded + statistics.Unsuccessful;
        }
    }

    public ValueTask<PassResult> RunAsync(ItemBatches batches, CancellationToken cancellationToken) =>
        knobs.PreserveOrder ? RunArraysAsync(batches, cancellationToken) : RunStreamsAsync(batches, cancellationToken);

    private async ValueTask<PassResult> RunArraysAsync(ItemBatches batches, CancellationToken cancellationToken)
    {
        OutcomeTally tally = new(work);
        for (long first = 0; first < batches.Count; first += batches.BatchSize)
        {
            ItemOutcome<int>[] outcomes = await runtime.ProcessManyAsync(
                batches.From((int)first), work.Processor, _options, cancellationToken).ConfigureAwait(false);
            tally.Add(outcomes, (int)first);
        }

        return tally.Result;
    }

    private async ValueTask<PassResult> RunStreamsAsync(ItemBatches batches, CancellationToken cancellationToken)
    {
        OutcomeTally tally = new(work);
        for (long first = 0; first < batches.Count; first += batches.BatchSize)
        {
            await foreach ((int index, ItemOutcome<int> outcome) in runtime.ProcessManyStreamAsync(
                batches.From((int)first), work.Processor, preserveOrder: false, _options, cancellationToken).ConfigureAwait(false))
            {
                tally.Add(outcome, (int)first + index);
            }
        }

        return tally.Result;
    }
}
