#if DEBUG
using Weir.Dataflow.Sync;
using Weir.Dataflow.Tests.Probes;

namespace Weir.Dataflow.Tests.Interleavings;

/// <summary>There is no memory for a message: who brought it is told, and the block goes on with all that it has taken.</summary>
[Collection(nameof(MemoryPoint))]
public class NoMemoryTests
{
    private const int Limit = Eventually.Limit;
    private const int Posts = 100;

    public static TheoryData<string> Inputs =>
        ["Action", "ActionBounded", "Buffer", "BufferWaitedFor", "Batch", "BatchLimited", "Join", "JoinBounded", "BatchedJoin", "Transform"];

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Inputs))]
    public async Task Post_NoMemory_ThrowsAndTheBlockGoesOn(string kind)
    {
        var seen = new ConcurrentQueue<int>();
        var posted = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        (ITargetBlock<Item> target, IDataflowBlock whole, Task end) = Create(kind, seen, posted.Task);
        int refused = 0;
        MemoryPoint.Passing = who =>
        {
            if ((who as Type ?? who.GetType()).GenericTypeArguments.Any(Concerns) && Interlocked.Increment(ref refused) % 2 == 1)
            {
                throw new InsufficientMemoryException("none");
            }
        };

        var taken = new List<int>();
        int thrown = 0;
        try
        {
            // On threads by turns, each of which would find a gate that was left locked.
            for (int i = 0; i < Posts; i++)
            {
                await Task.Factory.StartNew(
                    () =>
                    {
                        try
                        {
                            Assert.True(target.Post(new Item(i)));
                            taken.Add(i);
                        }
                        catch (OutOfMemoryException)
                        {
                            thrown++;
                        }
                    },
                    CancellationToken.None,
                    TaskCreationOptions.LongRunning,
                    TaskScheduler.Default).WaitAsync(Eventually.Patience);
            }
        }
        finally
        {
            MemoryPoint.Passing = null;
            posted.SetResult();
        }

        Assert.NotEqual(0, thrown);
        whole.Complete();
        await Eventually.Done(end);
        Assert.Equal(taken, seen);
    }

    [Fact(Timeout = Limit)]
    public async Task OrderedOutput_NoMemory_FailsTheBlock()
    {
        using var gate = new Probes.Gate();
        var block = new TransformBlock<int, Item>(
            i =>
            {
                if (i == 0)
                {
                    gate.Pass();
                }

                return new Item(i);
            },
            new ExecutionDataflowBlockOptions { MaxDegreeOfParallelism = 2 });
        MemoryPoint.Passing = static who =>
        {
            if (who is Cores.OrderedOutput<Item>)
            {
                throw new InsufficientMemoryException("none");
            }
        };
        try
        {
            for (int i = 0; i < 100; i++)
            {
                block.Post(i);
            }

            gate.AwaitArrivals();
            Eventually.Equal(0, () => block.InputCount);
        }
        finally
        {
            gate.Open();
            Assert.Equal(TaskStatus.Faulted, await Eventually.Status(block.Completion));
            MemoryPoint.Passing = null;
        }

        Assert.IsAssignableFrom<OutOfMemoryException>(block.Completion.Exception!.InnerExceptions[0]);
    }

    [Fact(Timeout = Limit)]
    public async Task OrderedOutput_NoMemoryBeforeTheTurnOfACallThatWaits_FailsTheBlockAndTheCallEnds()
    {
        const int Bound = 4;
        using var gate = new Probes.Gate();
        int read = 0;
        var block = new TransformManyBlock<int, Item>(
            i =>
            {
                if (i == 0)
                {
                    gate.Pass();
                    return [new Item(0)];
                }

                return Enumerable.Range(0, 10 * Bound).Select(_ => new Item(Interlocked.Increment(ref read)));
            },
            new ExecutionDataflowBlockOptions { MaxDegreeOfParallelism = 2, BoundedCapacity = Bound });
        block.PostAll(0, 1);
        Eventually.Equal(Bound, () => Volatile.Read(ref read));
        MemoryPoint.Passing = static who =>
        {
            if (who as Type == typeof(Cores.MessageQueue<Item>))
            {
                throw new InsufficientMemoryException("none");
            }
        };
        try
        {
            gate.Open();
            Assert.Equal(TaskStatus.Faulted, await Eventually.Status(block.Completion));
        }
        finally
        {
            MemoryPoint.Passing = null;
        }

        Assert.Equal(Bound, read);
    }

    [Theory(Timeout = Limit)]
    [InlineData(1)]
    [InlineData(2)]
    public async Task PendingCall_NoMemoryToWaitForIt_FailsTheBlock(int parallelism)
    {
        var call = new TaskCompletionSource();
        var block = new ActionBlock<Item>(_ => call.Task, new ExecutionDataflowBlockOptions { MaxDegreeOfParallelism = parallelism });
        MemoryPoint.Passing = static who =>
        {
            if (who as Type == typeof(Cores.ExecCore<Item>.CallHandle))
            {
                throw new InsufficientMemoryException("none");
            }
        };
        try
        {
            Assert.True(block.Post(new Item(1)));
            Assert.Equal(TaskStatus.Faulted, await Eventually.Status(block.Completion));
        }
        finally
        {
            MemoryPoint.Passing = null;
        }

        Assert.IsAssignableFrom<OutOfMemoryException>(block.Completion.Exception!.InnerExceptions[0]);
    }

    private static bool Concerns(Type type) =>
        type == typeof(Item) || (type.IsArray && Concerns(type.GetElementType()!)) || (type.IsGenericType && type.GenericTypeArguments.Any(Concerns));

    private static (ITargetBlock<Item> Target, IDataflowBlock Whole, Task End) Create(string kind, ConcurrentQueue<int> seen, Task posted)
    {
        var bounded = new ExecutionDataflowBlockOptions { BoundedCapacity = 1000 };
        var grouping = new GroupingDataflowBlockOptions
        {
            BoundedCapacity = kind.EndsWith("Bounded", StringComparison.Ordinal) ? 1000 : -1, MaxNumberOfGroups = kind == "BatchLimited" ? 1000 : -1,
        };
        switch (kind)
        {
            case "Action":
            case "ActionBounded":
                var action = kind == "Action" ? new ActionBlock<Item>(i => seen.Enqueue(i.Value)) : new ActionBlock<Item>(i => seen.Enqueue(i.Value), bounded);
                return (action, action, action.Completion);
            case "Transform":
                var transform = new TransformBlock<Item, int>(static i => i.Value);
                return (transform, transform, Drain(transform, seen.Enqueue));
            case "Buffer":
                var buffer = new BufferBlock<Item>();
                return (buffer, buffer, DrainLater(buffer, posted, i => seen.Enqueue(i.Value)));
            case "BufferWaitedFor":
                var waited = new BufferBlock<Item>();
                return (waited, waited, Drain(waited, i => seen.Enqueue(i.Value)));
            case "Batch":
            case "BatchLimited":
                var batch = new BatchBlock<Item>(3, grouping);
                return (batch, batch, DrainLater(batch, posted, b => Array.ForEach(b, i => seen.Enqueue(i.Value))));
            case "Join":
            case "JoinBounded":
                var join = new JoinBlock<int, Item>(grouping);
                for (int i = 0; i < Posts; i++)
                {
                    join.Target1.Post(i);
                }

                return (join.Target2, join, DrainLater(join, posted, i => seen.Enqueue(i.Item2.Value)));
            default:
                var batched = new BatchedJoinBlock<int, Item>(7);
                return (batched.Target2, batched, DrainLater(batched, posted, t =>
                {
                    foreach (Item i in t.Item2)
                    {
                        seen.Enqueue(i.Value);
                    }
                }));
        }
    }

    /// <summary>Receives nothing before all is posted, so that queues grow.</summary>
    private static async Task DrainLater<T>(IReceivableSourceBlock<T> block, Task posted, Action<T> each)
    {
        await posted;
        await Drain(block, each);
    }

    private static async Task Drain<T>(IReceivableSourceBlock<T> block, Action<T> each)
    {
        await foreach (T item in block.ReceiveAllAsync())
        {
            each(item);
        }

        await block.Completion;
    }

    private readonly record struct Item(int Value);
}
#endif
