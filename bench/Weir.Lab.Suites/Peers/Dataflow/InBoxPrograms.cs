namespace Weir.Lab.Suites.Peers.Dataflow;

/// <summary>Small programs with the blocks of System.Threading.Tasks.Dataflow. The build writes the same text with Weir's blocks.</summary>
internal static class InBoxPrograms
{
    private static readonly DataflowLinkOptions Propagate = new() { PropagateCompletion = true };

    /// <summary>A transform and an action, of some calls at a time.</summary>
    public static async Task<long[]> TransformAsync(OrderLines orders, Func<string, OrderLines.Order> read, int parallelism)
    {
        var options = new ExecutionDataflowBlockOptions { MaxDegreeOfParallelism = parallelism };
        var transform = new TransformBlock<string, OrderLines.Order>(read, options);
        var action = new ActionBlock<OrderLines.Order>(orders.Add);
        transform.LinkTo(action, Propagate);
        foreach (string line in orders.Lines)
        {
            transform.Post(line);
        }

        transform.Complete();
        await action.Completion;
        return orders.Take();
    }

    /// <summary>A transform to many, and an action.</summary>
    public static async Task<long[]> ManyAsync(OrderLines orders)
    {
        var many = new TransformManyBlock<string, string>(OrderLines.Split);
        var action = new ActionBlock<string>(orders.AddField);
        many.LinkTo(action, Propagate);
        foreach (string line in orders.Lines)
        {
            many.Post(line);
        }

        many.Complete();
        await action.Completion;
        return orders.Take();
    }

    /// <summary>A transform, batches of 100, and an action.</summary>
    public static async Task<long[]> BatchAsync(OrderLines orders)
    {
        var transform = new TransformBlock<string, OrderLines.Order>(OrderLines.Read);
        var batch = new BatchBlock<OrderLines.Order>(100);
        var action = new ActionBlock<OrderLines.Order[]>(orders.AddAll);
        transform.LinkTo(batch, Propagate);
        batch.LinkTo(action, Propagate);
        foreach (string line in orders.Lines)
        {
            transform.Post(line);
        }

        transform.Complete();
        await action.Completion;
        return orders.Take();
    }

    /// <summary>A transform, and an action that awaits.</summary>
    public static async Task<long[]> AwaitAsync(OrderLines orders)
    {
        var transform = new TransformBlock<string, OrderLines.Order>(OrderLines.Read);
        var action = new ActionBlock<OrderLines.Order>(orders.StoreAsync);
        transform.LinkTo(action, Propagate);
        foreach (string line in orders.Lines)
        {
            transform.Post(line);
        }

        transform.Complete();
        await action.Completion;
        return orders.Take();
    }

    /// <summary>A transform and an action that have room for few messages, so that the sender waits.</summary>
    public static async Task<long[]> BoundedAsync(OrderLines orders, int bound)
    {
        var options = new ExecutionDataflowBlockOptions { BoundedCapacity = bound };
        var transform = new TransformBlock<string, OrderLines.Order>(OrderLines.Read, options);
        var action = new ActionBlock<OrderLines.Order>(orders.Add, options);
        transform.LinkTo(action, Propagate);
        foreach (string line in orders.Lines)
        {
            await transform.SendAsync(line);
        }

        transform.Complete();
        await action.Completion;
        return orders.Take();
    }
}
