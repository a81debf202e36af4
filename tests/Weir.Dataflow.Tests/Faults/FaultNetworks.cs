using System.Threading.Tasks.Dataflow;
using Weir.Dataflow.Tests.Probes;

namespace Weir.Dataflow.Tests.Faults;

/// <summary>Networks that together pass every place at which a block works with no caller above it.</summary>
internal static class FaultNetworks
{
    private const int Count = 12;

    private static readonly TimeSpan Short = TimeSpan.FromMilliseconds(2);
    private static readonly DataflowLinkOptions Propagating = new() { PropagateCompletion = true };

    /// <summary>All of them, by name.</summary>
    public static readonly IReadOnlyDictionary<string, Func<Books, Task>> All = Make();

    private static Dictionary<string, Func<Books, Task>> Make()
    {
        Dictionary<string, Func<Books, Task>> all = new()
        {
            [nameof(CancelledSends)] = CancelledSends,
            [nameof(CancelledReceives)] = CancelledReceives,
            [nameof(CancelledBlocks)] = CancelledBlocks,
        };
        foreach ((string name, Func<Books, Func<TaskScheduler>, Task> run) in new (string, Func<Books, Func<TaskScheduler>, Task>)[]
        {
            (nameof(Line), Line),
            (nameof(TwoIntoOne), TwoIntoOne),
            (nameof(Parallel), Parallel),
            (nameof(PatientBatch), PatientBatch),
            (nameof(PatientJoin), PatientJoin),
            (nameof(Joins), Joins),
            (nameof(Broadcasts), Broadcasts),
            (nameof(WriteOnce), WriteOnce),
            (nameof(TimedBatch), TimedBatch),
            (nameof(PostponedAtTheEnd), PostponedAtTheEnd),
            (nameof(Received), Received),
        })
        {
            all.Add($"{name} on the pool", books => run(books, static () => TaskScheduler.Default));
            all.Add($"{name} on a scheduler", books => run(books, static () => new ConcurrentExclusiveSchedulerPair().ConcurrentScheduler));
        }

        return all;
    }

    private static ExecutionDataflowBlockOptions Execution(Func<TaskScheduler> on, int capacity, int degree = 1) =>
        new() { TaskScheduler = on(), BoundedCapacity = capacity, MaxDegreeOfParallelism = degree };

    private static GroupingDataflowBlockOptions Grouping(Func<TaskScheduler> on, bool greedy, CancellationToken token = default) =>
        new() { TaskScheduler = on(), Greedy = greedy, CancellationToken = token };

    private static Task Line(Books books, Func<TaskScheduler> on)
    {
        BufferBlock<int> first = new(new DataflowBlockOptions { TaskScheduler = on(), BoundedCapacity = 2 });
        TransformBlock<int, int> second = new(static async x => { await Task.Yield(); return x; }, Execution(on, 1));
        TransformManyBlock<int, int> third = new(static x => [x], Execution(on, 2, degree: 2));
        ActionBlock<int> last = new(books.Deliver, Execution(on, 1));
        first.LinkTo(second, Propagating);
        second.LinkTo(third, Propagating);
        third.LinkTo(last, Propagating);
        return ThroughAll();

        async Task ThroughAll()
        {
            Task through = books.Through(first, first, Enumerable.Range(0, Count), last);
            await books.EndOf(last.Completion, "the last block");
            second.LinkTo(DataflowBlock.NullTarget<int>());
            third.LinkTo(DataflowBlock.NullTarget<int>());
            await through;

            // If the last one failed, nobody has told those before it.
            await books.EndOf(second.Completion, "the second block");
            await books.EndOf(third.Completion, "the third block");
        }
    }

    private static async Task TwoIntoOne(Books books, Func<TaskScheduler> on)
    {
        BufferBlock<int> a = new(new DataflowBlockOptions { TaskScheduler = on() });
        BufferBlock<int> b = new(new DataflowBlockOptions { TaskScheduler = on() });
        ActionBlock<int> last = new(async x => { await Task.Yield(); books.Deliver(x); }, Execution(on, 1));
        a.LinkTo(last);
        b.LinkTo(last);
        await books.Send(a, Enumerable.Range(0, Count));
        await books.Send(b, Enumerable.Range(Count, Count));
        a.Complete();
        b.Complete();

        // They end when all is taken, or the last one is faulted and somebody else takes it.
        Task failed = last.Completion.ContinueWith(
            _ =>
            {
                a.LinkTo(DataflowBlock.NullTarget<int>());
                b.LinkTo(DataflowBlock.NullTarget<int>());
            },
            TaskScheduler.Default);
        await books.EndOf(a.Completion, "a");
        await books.EndOf(b.Completion, "b");
        last.Complete();
        await books.EndOf(last.Completion, "the last block");
        await failed;
    }

    private static async Task Parallel(Books books, Func<TaskScheduler> on)
    {
        ActionBlock<int> block = new(async x => { await Task.Yield(); books.Deliver(x); }, Execution(on, 4, degree: 3));
        Task sends = Task.WhenAll(Enumerable.Range(0, Count).Select(x => books.Send(block, x, default)));
        await sends;
        block.Complete();
        await books.EndOf(block.Completion, "the block");
    }

    private static async Task PatientBatch(Books books, Func<TaskScheduler> on)
    {
        BufferBlock<int> a = new();
        BufferBlock<int> b = new();
        BatchBlock<int> batch = new(2, Grouping(on, greedy: false));
        a.LinkTo(batch);
        b.LinkTo(batch);
        Task received = books.Receive(batch, books.Deliver);
        await books.Send(a, Enumerable.Range(0, Count));
        await books.Send(b, Enumerable.Range(Count, Count));
        await Drained(books, batch, a, b);
        await received;
    }

    private static async Task PatientJoin(Books books, Func<TaskScheduler> on)
    {
        BufferBlock<int> a = new();
        BufferBlock<int> b = new();
        BufferBlock<int> c = new();
        JoinBlock<int, int, int> join = new(Grouping(on, greedy: false));
        a.LinkTo(join.Target1);
        b.LinkTo(join.Target2);
        c.LinkTo(join.Target3);
        Task received = books.Receive(join, tuple => books.Deliver([tuple.Item1, tuple.Item2, tuple.Item3]));
        await books.Send(a, Enumerable.Range(0, Count));
        await books.Send(b, Enumerable.Range(Count, Count));
        await books.Send(c, Enumerable.Range(2 * Count, Count));
        await Drained(books, join, a, b, c);
        await received;
    }

    /// <summary>The sources end once all is taken; when the block has failed, somebody else takes it.</summary>
    private static async Task Drained(Books books, IDataflowBlock block, params BufferBlock<int>[] sources)
    {
        Task ended = block.Completion.ContinueWith(
            _ => Array.ForEach(sources, static source => source.LinkTo(DataflowBlock.NullTarget<int>())), TaskScheduler.Default);
        foreach (BufferBlock<int> source in sources)
        {
            // Without one of them, there may be too few for what the others offer.
            _ = source.Completion.ContinueWith(
                _ => block.Complete(), CancellationToken.None, TaskContinuationOptions.NotOnRanToCompletion, TaskScheduler.Default);
            source.Complete();
        }

        await Task.WhenAll(sources.Select(source => books.EndOf(source.Completion, "a source")));

        block.Complete();
        await books.EndOf(block.Completion, $"{block}");
        await ended;
    }

    private static async Task Joins(Books books, Func<TaskScheduler> on)
    {
        JoinBlock<int, int> join = new(Grouping(on, greedy: true));
        BatchedJoinBlock<int, int> two = new(4, Grouping(on, greedy: true));
        BatchedJoinBlock<int, int, int> three = new(6, Grouping(on, greedy: true));
        Task[] received =
        [
            books.Receive(join, tuple => books.Deliver([tuple.Item1, tuple.Item2])),
            books.Receive(two, lists => books.Deliver(lists.Item1.Concat(lists.Item2))),
            books.Receive(three, lists => books.Deliver(lists.Item1.Concat(lists.Item2).Concat(lists.Item3))),
        ];
        ITargetBlock<int>[] targets = [join.Target1, join.Target2, two.Target1, two.Target2, three.Target1, three.Target2, three.Target3];
        for (int i = 0; i < targets.Length; i++)
        {
            await books.Send(targets[i], Enumerable.Range(i * Count, Count));
        }

        join.Complete();
        two.Complete();
        three.Complete();
        await Task.WhenAll(received);
    }

    private static async Task Broadcasts(Books books, Func<TaskScheduler> on)
    {
        BroadcastBlock<int> broadcast = new(static x => x, new DataflowBlockOptions { TaskScheduler = on(), BoundedCapacity = 1 });
        ReliableBroadcastBlock<int> reliable = new(static x => x, new DataflowBlockOptions { TaskScheduler = on(), BoundedCapacity = 2 });
        ActionBlock<int> to = new(books.Deliver, Execution(on, DataflowBlockOptions.Unbounded));
        ActionBlock<int> a = new(books.Deliver, Execution(on, 1));
        ActionBlock<int> b = new(static _ => { }, Execution(on, 1));
        broadcast.LinkTo(to, Propagating);
        reliable.LinkTo(a, propagateCompletion: true);
        reliable.LinkTo(b, propagateCompletion: true);
        Task sends = Task.WhenAll(books.Send(broadcast, Enumerable.Range(0, Count)), books.Send(reliable, Enumerable.Range(Count, Count)));
        Task late = Task.WhenAll(Enumerable.Range(2 * Count, 3).Select(x => books.Send(broadcast, x, default)));
        await sends;
        broadcast.Complete();
        reliable.Complete();
        await late;
        await books.EndOf(broadcast.Completion, "the broadcast");
        await books.EndOf(to.Completion, "its target");
        await books.EndOf(reliable.Completion, "the reliable one");
        await books.EndOf(a.Completion, "its first target");
        await books.EndOf(b.Completion, "its second target");
    }

    private static async Task WriteOnce(Books books, Func<TaskScheduler> on)
    {
        WriteOnceBlock<int> block = new(static x => x, new DataflowBlockOptions { TaskScheduler = on() });
        ActionBlock<int> to = new(books.Deliver, Execution(on, DataflowBlockOptions.Unbounded));
        block.LinkTo(to, Propagating);
        Task waits = books.EndOf(block.ReceiveAsync(), "a wait for the value");
        await books.Send(block, 1, default);
        await waits;
        await books.EndOf(block.Completion, "the block");
        await books.EndOf(to.Completion, "its target");

        WriteOnceBlock<int> empty = new(static x => x, new DataflowBlockOptions { TaskScheduler = on() });
        ActionBlock<int> told = new(books.Deliver, Execution(on, DataflowBlockOptions.Unbounded));
        empty.LinkTo(told, Propagating);
        Task<bool> available = empty.OutputAvailableAsync();
        empty.Complete();
        await books.EndOf(available, "a wait for no value");
        await books.EndOf(empty.Completion, "the empty block");
        await books.EndOf(told.Completion, "its target");
    }

    private static async Task TimedBatch(Books books, Func<TaskScheduler> on)
    {
        foreach (bool greedy in new[] { true, false })
        {
            BatchBlock<int> batch = new(100, Short, TimeProvider.System, Grouping(on, greedy));
            Task sent = books.Send(batch, greedy ? 1 : 2, default);
            Task<bool> available = batch.OutputAvailableAsync();
            await books.EndOf(available, "a batch whose time is up");
            while (batch.TryReceive(out int[]? items))
            {
                books.Deliver(items);
            }

            batch.Complete();
            await sent;
            await books.EndOf(batch.Completion, "the batch");
        }
    }

    private static async Task PostponedAtTheEnd(Books books, Func<TaskScheduler> on)
    {
        using SemaphoreSlim gate = new(0);
        BufferBlock<int> source = new();
        ActionBlock<int> block = new(
            async x =>
            {
                await gate.WaitAsync();
                books.Deliver(x);
            },
            Execution(on, 1));
        BroadcastBlock<int> broadcast = new(static x => x, new DataflowBlockOptions { TaskScheduler = on(), BoundedCapacity = 1 });
        await books.Send(block, 0, default);
        source.LinkTo(block);
        await books.Send(source, [1]);
        Task late = books.Send(block, 2, default);
        block.Complete();
        gate.Release(5);
        await books.EndOf(block.Completion, "the block");
        await late;
        ActionBlock<int> rest = new(books.Deliver);
        source.LinkTo(rest, Propagating);
        source.Complete();
        await books.EndOf(rest.Completion, "who takes the rest");
        source.LinkTo(DataflowBlock.NullTarget<int>());
        await books.EndOf(source.Completion, "the source");

        // Held by a reservation, so that the next one waits and the one after it is postponed.
        Task sends = Task.WhenAll(Enumerable.Range(3, 4).Select(x => broadcast.SendAsync(x)));
        broadcast.Complete();
        await books.EndOf(sends, "sends to a block that ends");
        await books.EndOf(broadcast.Completion, "the broadcast");
    }

    private static async Task Received(Books books, Func<TaskScheduler> on)
    {
        BufferBlock<int> block = new(new DataflowBlockOptions { TaskScheduler = on(), BoundedCapacity = 1 });
        Task received = books.Receive(block, books.Deliver);
        await books.Send(block, Enumerable.Range(0, Count));
        block.Complete();
        await received;
    }

    private static async Task CancelledSends(Books books)
    {
        using CancellationTokenSource stop = new();
        using SemaphoreSlim gate = new(0);
        ActionBlock<int> block = new(
            async x =>
            {
                await gate.WaitAsync();
                books.Deliver(x);
            },
            new ExecutionDataflowBlockOptions { BoundedCapacity = 1 });
        await books.Send(block, 0, default);
        Task sends = Task.WhenAll(
            books.EndOf(block.SendAsync(1, stop.Token), "a send that is cancelled"),
            books.EndOf(block.SendValueAsync(2, stop.Token).AsTask(), "a send that is cancelled, as a value task"));
        stop.Cancel();
        await sends;
        gate.Release(5);
        await books.Send(block, 3, default);
        block.Complete();
        await books.EndOf(block.Completion, "the block");
    }

    private static async Task CancelledReceives(Books books)
    {
        foreach (bool copies in new[] { false, true })
        {
            using CancellationTokenSource stop = new();
            PropagatorBlock<int, int> block = copies ? new BroadcastBlock<int>(static x => x) : new BufferBlock<int>();
            Task waits = Task.WhenAll(
                books.EndOf(block.ReceiveAsync(stop.Token), "a receive that is cancelled"),
                books.EndOf(block.ReceiveValueAsync(stop.Token).AsTask(), "a receive that is cancelled, as a value task"),
                books.EndOf(block.OutputAvailableAsync(stop.Token), "a wait that is cancelled"),
                books.EndOf(block.ReceiveAsync(Short), "a receive whose time is up"));
            stop.Cancel();
            await waits;

            // The next message is nobody's but the next one's who asks.
            await books.Send(block, copies ? 2 : 1, default);
            Task<int> next = block.ReceiveAsync(TimeSpan.FromSeconds(10));
            await books.EndOf(next, "the next receive");
            if (next.IsCompletedSuccessfully)
            {
                books.Deliver(next.Result);
            }

            block.Complete();
            await books.EndOf(block.Completion, "the block");
        }
    }

    private static async Task CancelledBlocks(Books books)
    {
        using CancellationTokenSource stop = new();
        ExecutionDataflowBlockOptions execution = new() { BoundedCapacity = 1, CancellationToken = stop.Token };
        DataflowBlockOptions plain = new() { BoundedCapacity = 1, CancellationToken = stop.Token };
        GroupingDataflowBlockOptions patient = new() { Greedy = false, CancellationToken = stop.Token };
        GroupingDataflowBlockOptions greedy = new() { CancellationToken = stop.Token };
        JoinBlock<int, int> join2 = new(patient);
        JoinBlock<int, int, int> join3 = new(greedy);
        BatchedJoinBlock<int, int> joined2 = new(3, greedy);
        BatchedJoinBlock<int, int, int> joined3 = new(3, greedy);
        IDataflowBlock[] blocks =
        [
            new BufferBlock<int>(plain),
            new ActionBlock<int>(async _ => await Task.Delay(Timeout.InfiniteTimeSpan, TimeProvider.System, stop.Token), execution),
            new TransformBlock<int, int>(static x => x, execution), new TransformManyBlock<int, int>(static x => [x], execution),
            new BatchBlock<int>(3, greedy), new BatchBlock<int>(3, patient), new BroadcastBlock<int>(static x => x, plain),
            new WriteOnceBlock<int>(static x => x, plain), join2, join3, joined2, joined3,
        ];
        List<Task> waits = [];
        foreach (IDataflowBlock block in blocks)
        {
            if (block is ISourceBlock<int> source)
            {
                waits.Add(books.EndOf(source.OutputAvailableAsync(), $"a wait of {block}"));
            }
        }

        foreach (ITargetBlock<int> target in blocks.OfType<ITargetBlock<int>>().Where(static b => b is not (WriteOnceBlock<int> or BroadcastBlock<int>))
            .Concat([join2.Target1, join3.Target1, joined2.Target1, joined3.Target1]))
        {
            // What they have is dropped when they are cancelled.
            waits.AddRange(Enumerable.Range(0, 3).Select(x => books.EndOf(target.SendAsync(x), $"a send to {target}")));
        }

        stop.Cancel();
        waits.AddRange(blocks.Select(block => books.EndOf(block.Completion, $"{block}")));
        await Task.WhenAll(waits);
    }
}
