namespace Weir.Lab.Suites.Peers.Dataflow;

/// <summary>
/// The programs of the grid, with the blocks of System.Threading.Tasks.Dataflow. The build writes the same text with Weir's blocks (WeirGrid). Each gives
/// the sum of what arrived.
/// </summary>
internal static class InBoxGrid
{
    private static readonly DataflowLinkOptions Propagate = new() { PropagateCompletion = true };

    /// <summary>Runs the program of a cell once.</summary>
    public static Task<long> RunAsync(GridCell cell) => cell.Block switch
    {
        GridBlock.Action => ActionAsync(cell),
        GridBlock.Transform => TransformAsync(cell),
        GridBlock.TransformMany => TransformManyAsync(cell),
        GridBlock.Buffer => BufferAsync(cell),
        GridBlock.Broadcast => BroadcastAsync(cell),
        GridBlock.WriteOnce => WriteOnceAsync(cell),
        GridBlock.Batch => BatchAsync(cell),
        GridBlock.Join2 => JoinOfTwoAsync(cell),
        GridBlock.Join3 => JoinOfThreeAsync(cell),
        _ => BatchedJoinAsync(cell),
    };

    private static async Task<long> ActionAsync(GridCell cell)
    {
        var sum = new CellSum();
        var action = cell.Yields ? new ActionBlock<int>(sum.AddYieldingAsync, cell.Execution)
            : new ActionBlock<int>(cell.Degree == 1 ? sum.Add : sum.AddShared, cell.Execution);
        await cell.SendAsync(new BlockInput(action.Post, action.SendAsync));
        action.Complete();
        await action.Completion;
        return sum.Value;
    }

    private static async Task<long> TransformAsync(GridCell cell)
    {
        var sum = new CellSum();
        var transform = !cell.Yields ? new TransformBlock<int, int>(static i => i, cell.Execution) : new TransformBlock<int, int>(
            static async i =>
            {
                await Task.Yield();
                return i;
            },
            cell.Execution);
        var sink = new ActionBlock<int>(sum.Add);
        transform.LinkTo(sink, Propagate);
        await cell.SendAsync(new BlockInput(transform.Post, transform.SendAsync));
        transform.Complete();
        await sink.Completion;
        return sum.Value;
    }

    private static async Task<long> TransformManyAsync(GridCell cell)
    {
        var sum = new CellSum();
        var many = !cell.Yields ? new TransformManyBlock<int, int>(static i => (int[])[i, i], cell.Execution) : new TransformManyBlock<int, int>(
            static async i =>
            {
                await Task.Yield();
                return (int[])[i, i];
            },
            cell.Execution);
        var sink = new ActionBlock<int>(sum.Add);
        many.LinkTo(sink, Propagate);
        await cell.SendAsync(new BlockInput(many.Post, many.SendAsync));
        many.Complete();
        await sink.Completion;
        return sum.Value;
    }

    private static async Task<long> BufferAsync(GridCell cell)
    {
        var sum = new CellSum();
        var buffer = new BufferBlock<int>(cell.Plain);
        var sink = new ActionBlock<int>(sum.Add);
        buffer.LinkTo(sink, Propagate);
        await cell.SendAsync(new BlockInput(buffer.Post, buffer.SendAsync));
        buffer.Complete();
        await sink.Completion;
        return sum.Value;
    }

    private static async Task<long> BroadcastAsync(GridCell cell)
    {
        var sum = new CellSum();
        var other = new CellSum();
        var broadcast = new BroadcastBlock<int>(null, cell.Plain);
        var sink = new ActionBlock<int>(sum.Add);
        var second = new ActionBlock<int>(other.Add);
        broadcast.LinkTo(sink, Propagate);
        broadcast.LinkTo(second, Propagate);
        await cell.SendAsync(new BlockInput(broadcast.Post, broadcast.SendAsync));
        broadcast.Complete();
        await sink.Completion;
        await second.Completion;
        return sum.Value + other.Value;
    }

    /// <summary>A block for each message, because it takes one.</summary>
    private static async Task<long> WriteOnceAsync(GridCell cell)
    {
        var sum = new CellSum();
        var sink = new ActionBlock<int>(sum.Add);
        async Task<bool> SendAsync(int i)
        {
            var once = new WriteOnceBlock<int>(null);
            once.LinkTo(sink);
            bool isTaken = once.Post(i);
            await once.Completion;
            return isTaken;
        }

        await cell.SendAsync(new BlockInput(static _ => false, SendAsync));
        sink.Complete();
        await sink.Completion;
        return sum.Value;
    }

    private static async Task<long> BatchAsync(GridCell cell)
    {
        var sum = new CellSum();
        var batch = new BatchBlock<int>(cell.BatchSize, cell.Grouping);
        var sink = new ActionBlock<int[]>(sum.AddAll);
        batch.LinkTo(sink, Propagate);
        if (cell.IsGreedy)
        {
            await cell.SendAsync(new BlockInput(batch.Post, batch.SendAsync));
        }
        else
        {
            var first = new BufferBlock<int>(cell.Plain);
            var second = new BufferBlock<int>(cell.Plain);
            first.LinkTo(batch);
            second.LinkTo(batch);
            await cell.SendAsync(new BlockInput(first.Post, first.SendAsync), new BlockInput(second.Post, second.SendAsync));
            first.Complete();
            second.Complete();
            await first.Completion;
            await second.Completion;
        }

        batch.Complete();
        await sink.Completion;
        return sum.Value;
    }

    private static async Task<long> JoinOfTwoAsync(GridCell cell)
    {
        var sum = new CellSum();
        var join = new JoinBlock<int, int>(cell.Grouping);
        var sink = new ActionBlock<Tuple<int, int>>(sum.AddPair);
        join.LinkTo(sink, Propagate);
        if (cell.IsGreedy)
        {
            await cell.SendAsync(new BlockInput(join.Target1.Post, join.Target1.SendAsync), new BlockInput(join.Target2.Post, join.Target2.SendAsync));
            join.Complete();
        }
        else
        {
            var first = new BufferBlock<int>(cell.Plain);
            var second = new BufferBlock<int>(cell.Plain);
            first.LinkTo(join.Target1, Propagate);
            second.LinkTo(join.Target2, Propagate);
            await cell.SendAsync(new BlockInput(first.Post, first.SendAsync), new BlockInput(second.Post, second.SendAsync));
            first.Complete();
            second.Complete();
        }

        await sink.Completion;
        return sum.Value;
    }

    private static async Task<long> JoinOfThreeAsync(GridCell cell)
    {
        var sum = new CellSum();
        var join = new JoinBlock<int, int, int>(cell.Grouping);
        var sink = new ActionBlock<Tuple<int, int, int>>(sum.AddTriple);
        join.LinkTo(sink, Propagate);
        if (cell.IsGreedy)
        {
            await cell.SendAsync(
                new BlockInput(join.Target1.Post, join.Target1.SendAsync),
                new BlockInput(join.Target2.Post, join.Target2.SendAsync),
                new BlockInput(join.Target3.Post, join.Target3.SendAsync));
            join.Complete();
        }
        else
        {
            var first = new BufferBlock<int>(cell.Plain);
            var second = new BufferBlock<int>(cell.Plain);
            var third = new BufferBlock<int>(cell.Plain);
            first.LinkTo(join.Target1, Propagate);
            second.LinkTo(join.Target2, Propagate);
            third.LinkTo(join.Target3, Propagate);
            await cell.SendAsync(
                new BlockInput(first.Post, first.SendAsync), new BlockInput(second.Post, second.SendAsync), new BlockInput(third.Post, third.SendAsync));
            first.Complete();
            second.Complete();
            third.Complete();
        }

        await sink.Completion;
        return sum.Value;
    }

    private static async Task<long> BatchedJoinAsync(GridCell cell)
    {
        var sum = new CellSum();
        var join = new BatchedJoinBlock<int, int>(2);
        var sink = new ActionBlock<Tuple<IList<int>, IList<int>>>(sum.AddLists);
        join.LinkTo(sink, Propagate);
        await cell.SendAsync(new BlockInput(join.Target1.Post, join.Target1.SendAsync), new BlockInput(join.Target2.Post, join.Target2.SendAsync));
        join.Complete();
        await sink.Completion;
        return sum.Value;
    }
}
