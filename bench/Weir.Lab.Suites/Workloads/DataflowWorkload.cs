namespace Weir.Lab.Suites.Workloads;

/// <summary>A block of Weir.Dataflow.</summary>
internal sealed class DataflowWorkload(int capacity) : BlockWorkload(capacity)
{
    public override string Name => "dataflow";

    protected override IDataflowBlock Create(Action<long> action) =>
        new Weir.Dataflow.ActionBlock<long>(action, new ExecutionDataflowBlockOptions { BoundedCapacity = Capacity });

    protected override Task<bool> SendAsync(IDataflowBlock block) => ((Weir.Dataflow.ActionBlock<long>)block).SendAsync(1);

    protected override Operation OperationOf(IDataflowBlock block)
    {
        Weir.Dataflow.ActionBlock<long> own = (Weir.Dataflow.ActionBlock<long>)block;
        return Operation.OfAsync(() => own.SendAsync(1));
    }
}
