using System.Threading.Tasks.Dataflow;
using Weir.Lab.Workers;

namespace Weir.Cli.Workloads;

/// <summary>A block of Weir.Dataflow.</summary>
internal sealed class DataflowWorkload(int capacity) : BlockWorkload(capacity)
{
    public override string Name => "dataflow";

    protected override IDataflowBlock Create(Action<long> action) =>
        new Dataflow.ActionBlock<long>(action, new ExecutionDataflowBlockOptions { BoundedCapacity = Capacity });

    protected override Operation OperationOf(IDataflowBlock block)
    {
        Dataflow.ActionBlock<long> own = (Dataflow.ActionBlock<long>)block;
        return Operation.OfAsync(() => own.SendAsync(1));
    }
}
