namespace Weir.Lab.Suites.Workloads;

/// <summary>A block of System.Threading.Tasks.Dataflow.</summary>
internal sealed class InBoxDataflowWorkload(int capacity) : BlockWorkload(capacity)
{
    public override string Name => "dataflow-inbox";

    protected override IDataflowBlock Create(Action<long> action) =>
        new ActionBlock<long>(action, new ExecutionDataflowBlockOptions { BoundedCapacity = Capacity });

    protected override Task<bool> SendAsync(IDataflowBlock block) => ((ActionBlock<long>)block).SendAsync(1);

    protected override Operation OperationOf(IDataflowBlock block)
    {
        ActionBlock<long> own = (ActionBlock<long>)block;
        return Operation.OfAsync(() => own.SendAsync(1));
    }
}
