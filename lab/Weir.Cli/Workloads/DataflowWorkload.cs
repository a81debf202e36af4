using System.Threading.Tasks.Dataflow;
using Weir.Lab.Workers;

namespace Weir.Cli.Workloads;

/// <summary>One bounded block that all workers send to.</summary>
internal sealed class DataflowWorkload : IWorkload
{
    private const int Capacity = 1024;

    private ActionBlock<long> _block = new(static _ => { });
    private long _processed;

    public string Name => "dataflow";

    public ValueTask BeginRoundAsync(CancellationToken cancellationToken)
    {
        _processed = 0;
        _block = new ActionBlock<long>(_ => _processed++, new ExecutionDataflowBlockOptions { BoundedCapacity = Capacity });
        return default;
    }

    public Operation CreateOperation(WorkerContext context)
    {
        ActionBlock<long> block = _block;
        return Operation.OfAsync(() => block.SendAsync(1));
    }

    public string? Check(RoundTotals round)
    {
        _block.Complete();
        _block.Completion.GetAwaiter().GetResult();
        return _processed == round.AllExecuted ? null : $"{_processed} items were processed of {round.AllExecuted} that were sent.";
    }
}
