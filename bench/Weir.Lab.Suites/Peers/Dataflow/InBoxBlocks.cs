namespace Weir.Lab.Suites.Peers.Dataflow;

/// <summary>
/// The cases, with the blocks of System.Threading.Tasks.Dataflow. The build writes the same text with Weir's blocks (WeirBlocks), and with the forms of them
/// that return value tasks (WeirValueTasks).
/// </summary>
internal static class InBoxBlocks
{
    private static readonly DataflowLinkOptions Propagate = new() { PropagateCompletion = true };

    /// <summary>Posts to an action.</summary>
    public static async Task<long[]> PostAsync(int n, Tally tally, ExecutionDataflowBlockOptions options)
    {
        var block = new ActionBlock<int>(tally.Add, options);
        for (int i = 0; i < n; i++)
        {
            block.Post(i);
        }

        block.Complete();
        await block.Completion;
        return tally.Take();
    }

    /// <summary>Two threads post to an action.</summary>
    public static async Task<long[]> PostFromTwoAsync(int n, Tally tally)
    {
        var block = new ActionBlock<int>(tally.Add);
        Task Half(int first) => Task.Run(() =>
        {
            for (int i = first; i < n; i += 2)
            {
                block.Post(i);
            }
        });
        await Task.WhenAll(Half(0), Half(1));
        block.Complete();
        await block.Completion;
        return tally.Take();
    }

    /// <summary>Posts to an action that runs twice at once, and therefore does nothing.</summary>
    public static async Task<long[]> PostParallelAsync(int n, Action<int> action)
    {
        var block = new ActionBlock<int>(action, new ExecutionDataflowBlockOptions { MaxDegreeOfParallelism = 2 });
        for (int i = 0; i < n; i++)
        {
            block.Post(i);
        }

        block.Complete();
        await block.Completion;
        return [n];
    }

    /// <summary>Sends to a bounded action.</summary>
    public static async Task<long[]> SendAsync(int n, Tally tally, int bound)
    {
        var block = new ActionBlock<int>(tally.Add, new ExecutionDataflowBlockOptions { BoundedCapacity = bound });
        for (int i = 0; i < n; i++)
        {
            await block.SendAsync(i);
        }

        block.Complete();
        await block.Completion;
        return tally.Take();
    }

    /// <summary>Posts to an action that returns a task.</summary>
    public static async Task<long[]> PostAsyncDelegateAsync(int n, Func<int, Task> action, int parallelism)
    {
        var block = new ActionBlock<int>(action, new ExecutionDataflowBlockOptions { MaxDegreeOfParallelism = parallelism });
        for (int i = 0; i < n; i++)
        {
            block.Post(i);
        }

        block.Complete();
        await block.Completion;
        return [n];
    }

    /// <summary>Posts to a batch, whose arrays an action takes.</summary>
    public static async Task<long[]> BatchAsync(int n, Tally tally)
    {
        var batch = new BatchBlock<int>(100);
        var action = new ActionBlock<int[]>(tally.AddAll);
        batch.LinkTo(action, Propagate);
        for (int i = 0; i < n; i++)
        {
            batch.Post(i);
        }

        batch.Complete();
        await action.Completion;
        return tally.Take();
    }

    /// <summary>One caller sends to a buffer of one message and receives it, in turn.</summary>
    public static async Task<long[]> SendReceiveAsync(int n)
    {
        var buffer = new BufferBlock<int>(new DataflowBlockOptions { BoundedCapacity = 1 });
        long sum = 0;
        for (int i = 0; i < n; i++)
        {
            await buffer.SendAsync(i);
            sum += await buffer.ReceiveAsync();
        }

        return [sum];
    }

    /// <summary>One task sends to a buffer of one message, another receives.</summary>
    public static async Task<long[]> SendReceiveTasksAsync(int n)
    {
        var buffer = new BufferBlock<int>(new DataflowBlockOptions { BoundedCapacity = 1 });
        Task sender = Task.Run(async () =>
        {
            for (int i = 0; i < n; i++)
            {
                await buffer.SendAsync(i);
            }
        });
        Task<long> receiver = Task.Run(async () =>
        {
            long sum = 0;
            for (int i = 0; i < n; i++)
            {
                sum += await buffer.ReceiveAsync();
            }

            return sum;
        });
        await sender;
        return [await receiver];
    }

    /// <summary>Each message is waited for before it is posted.</summary>
    public static async Task<long[]> ReceiveThenPostAsync(int n)
    {
        var buffer = new BufferBlock<int>();
        long sum = 0;
        for (int i = 0; i < n; i++)
        {
            var received = buffer.ReceiveAsync();
            buffer.Post(i);
            sum += await received;
        }

        return [sum];
    }

    /// <summary>Some transforms in a row, and an action.</summary>
    public static async Task<long[]> TransformAsync(int n, Tally tally, int transforms, int parallelism)
    {
        var options = new ExecutionDataflowBlockOptions { MaxDegreeOfParallelism = parallelism };
        var action = new ActionBlock<int>(tally.Add);
        var first = new TransformBlock<int, int>(static i => i + 1, options);
        TransformBlock<int, int> last = first;
        for (int t = 1; t < transforms; t++)
        {
            var next = new TransformBlock<int, int>(static i => i + 1, options);
            last.LinkTo(next, Propagate);
            last = next;
        }

        last.LinkTo(action, Propagate);
        for (int i = 0; i < n; i++)
        {
            first.Post(i);
        }

        first.Complete();
        await action.Completion;
        return tally.Take();
    }

    /// <summary>A broadcast to two actions.</summary>
    public static async Task<long[]> BroadcastAsync(int n, Tally tally, Tally other)
    {
        var broadcast = new BroadcastBlock<int>(null);
        var one = new ActionBlock<int>(tally.Add);
        var two = new ActionBlock<int>(other.Add);
        broadcast.LinkTo(one, Propagate);
        broadcast.LinkTo(two, Propagate);
        for (int i = 0; i < n; i++)
        {
            broadcast.Post(i);
        }

        broadcast.Complete();
        await one.Completion;
        await two.Completion;
        return [.. tally.Take(), .. other.Take()];
    }

    /// <summary>A greedy join of two, whose pairs an action takes.</summary>
    public static async Task<long[]> JoinAsync(int n, Tally tally)
    {
        var join = new JoinBlock<int, int>();
        var action = new ActionBlock<Tuple<int, int>>(tally.AddPair);
        join.LinkTo(action, Propagate);
        for (int i = 0; i < n; i++)
        {
            join.Target1.Post(i);
            join.Target2.Post(i);
        }

        join.Complete();
        await action.Completion;
        return tally.Take();
    }

    /// <summary>A transform, and two actions: one for the even messages, one for the others.</summary>
    public static async Task<long[]> RouteAsync(int n, Tally tally, Tally other)
    {
        var transform = new TransformBlock<int, int>(static i => i + 1);
        var even = new ActionBlock<int>(tally.Add);
        var odd = new ActionBlock<int>(other.Add);
        transform.LinkTo(even, Propagate, static i => i % 2 == 0);
        transform.LinkTo(odd, Propagate);
        for (int i = 0; i < n; i++)
        {
            transform.Post(i);
        }

        transform.Complete();
        await even.Completion;
        await odd.Completion;
        return [.. tally.Take(), .. other.Take()];
    }

    /// <summary>A join of two buffers that takes a message of each when both have one.</summary>
    public static async Task<long[]> JoinNotGreedyAsync(int n, Tally tally)
    {
        var join = new JoinBlock<int, int>(new GroupingDataflowBlockOptions { Greedy = false });
        var action = new ActionBlock<Tuple<int, int>>(tally.AddPair);
        var first = new BufferBlock<int>();
        var second = new BufferBlock<int>();
        first.LinkTo(join.Target1, Propagate);
        second.LinkTo(join.Target2, Propagate);
        join.LinkTo(action, Propagate);
        for (int i = 0; i < n; i++)
        {
            first.Post(i);
            second.Post(i);
        }

        first.Complete();
        second.Complete();
        await action.Completion;
        return tally.Take();
    }

    /// <summary>Batches of two, which are taken when both buffers have a message. Which message goes with which is not said.</summary>
    public static async Task<long[]> BatchNotGreedyAsync(int n, Tally tally)
    {
        var batch = new BatchBlock<int>(2, new GroupingDataflowBlockOptions { Greedy = false });
        var action = new ActionBlock<int[]>(tally.AddAll);
        var first = new BufferBlock<int>();
        var second = new BufferBlock<int>();
        first.LinkTo(batch);
        second.LinkTo(batch);
        batch.LinkTo(action, Propagate);
        for (int i = 0; i < n; i++)
        {
            first.Post(i);
            second.Post(i);
        }

        first.Complete();
        second.Complete();
        await first.Completion;
        await second.Completion;
        batch.Complete();
        await action.Completion;
        return tally.Take();
    }

    /// <summary>Posts to a block of which some calls last.</summary>
    public static async Task<long[]> LastingAsync(LastingCalls calls, BlockKind kind, int workers)
    {
        var options = new ExecutionDataflowBlockOptions { MaxDegreeOfParallelism = workers };
        var tally = new Tally();
        var action = kind != BlockKind.Action ? new ActionBlock<int>(tally.Add)
            : calls.IsAsync ? new ActionBlock<int>(calls.ActAsync, options)
            : new ActionBlock<int>(calls.Act, options);
        Func<int, bool> post = action.Post;
        Action complete = action.Complete;
        if (kind == BlockKind.Transform)
        {
            var transform = calls.IsAsync ? new TransformBlock<int, int>(calls.GiveAsync, options) : new TransformBlock<int, int>(calls.Give, options);
            transform.LinkTo(action, Propagate);
            post = transform.Post;
            complete = transform.Complete;
        }
        else if (kind == BlockKind.TransformMany)
        {
            var many = calls.IsAsync ? new TransformManyBlock<int, int>(calls.ManyAsync, options) : new TransformManyBlock<int, int>(calls.Many, options);
            many.LinkTo(action, Propagate);
            post = many.Post;
            complete = many.Complete;
        }

        for (int i = 0; i < calls.Count; i++)
        {
            post(i);
        }

        complete();
        await action.Completion;
        return [calls.Count];
    }

    /// <summary>Makes blocks that nobody uses.</summary>
    public static long[] Idle(int n, object[] kept, int kind)
    {
        for (int i = 0; i < n; i++)
        {
            kept[i] = kind switch
            {
                0 => new ActionBlock<int>(static _ => { }),
                1 => new BufferBlock<int>(),
                _ => new TransformBlock<int, int>(static i => i),
            };
        }

        return [kept.Length];
    }
}
