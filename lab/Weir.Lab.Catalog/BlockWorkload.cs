namespace Weir.Lab.Catalog;

/// <summary>One bounded block that all workers send to. The kinds differ only in the library of the block and in how it is called.</summary>
internal abstract class BlockWorkload(int capacity) : ItemWorkload
{
    private IDataflowBlock? _block;
    private long _processed;

    public override Func<int, CancellationToken, ValueTask<int>> Call => field ??= async (item, _) =>
    {
        await SendAsync(_block!);
        return item;
    };

    /// <summary>How many items the block holds before a sender has to wait.</summary>
    protected int Capacity => capacity;

    public override ValueTask BeginRoundAsync(CancellationToken cancellationToken)
    {
        _processed = 0;
        _block = Create(_ => _processed++);
        return default;
    }

    public override Operation CreateOperation(WorkerContext context) => OperationOf(_block!);

    public override string? Check(RoundTotals round)
    {
        _block!.Complete();
        _block.Completion.GetAwaiter().GetResult();
        return _processed == round.AllExecuted ? null : $"{_processed} items were processed of {round.AllExecuted} that were sent.";
    }

    /// <summary>A new block.</summary>
    protected abstract IDataflowBlock Create(Action<long> action);

    /// <summary>Sends an item to it.</summary>
    protected abstract Task<bool> SendAsync(IDataflowBlock block);

    /// <summary>Sends an item to a block that <see cref="Create"/> made.</summary>
    protected abstract Operation OperationOf(IDataflowBlock block);
}

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
