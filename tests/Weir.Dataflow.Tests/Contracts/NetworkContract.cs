using Weir.Dataflow.Tests.Blocks;
using Weir.Dataflow.Tests.Probes;

namespace Weir.Dataflow.Tests.Contracts;

/// <summary>Do blocks linked into networks keep what each of them promises?</summary>
public abstract class NetworkContract<TBlocks> : Contract<TBlocks> where TBlocks : BlockFactory, new()
{
    [Theory(Timeout = Limit)]
    [InlineData(DataflowBlockOptions.Unbounded, 1)]
    [InlineData(1, 1)]
    [InlineData(2, 3)]
    [InlineData(16, 2)]
    public async Task Pipeline_BufferTransformBatchManyAction_KeepsOrder(int bound, int degree)
    {
        var seen = new ConcurrentQueue<int>();
        var execution = new ExecutionDataflowBlockOptions { BoundedCapacity = bound, MaxDegreeOfParallelism = degree };
        IPropagatorBlock<int, int> buffer = Blocks.Buffer<int>(new DataflowBlockOptions { BoundedCapacity = bound });
        IPropagatorBlock<int, int> transform = Blocks.Transform<int, int>(static i => i * 2, execution);
        IPropagatorBlock<int, int> slow = Blocks.TransformAsync<int, int>(static async i => { await Task.Yield(); return i; }, execution);
        IPropagatorBlock<int, int[]> batch = Blocks.Batch<int>(3, new GroupingDataflowBlockOptions { BoundedCapacity = bound < 3 ? -1 : bound });
        IPropagatorBlock<int[], int> many = Blocks.Many<int[], int>(static b => b, execution);
        ITargetBlock<int> action = Blocks.Action<int>(seen.Enqueue, new ExecutionDataflowBlockOptions { BoundedCapacity = bound });
        buffer.LinkTo(transform, Propagate);
        transform.LinkTo(slow, Propagate);
        slow.LinkTo(batch, Propagate);
        batch.LinkTo(many, Propagate);
        many.LinkTo(action, Propagate);
        for (int i = 0; i < 400; i++)
        {
            Assert.True(await Eventually.Result(buffer.SendAsync(i)));
        }

        buffer.Complete();
        await Eventually.Done(action.Completion);
        Assert.Equal(Enumerable.Range(0, 400).Select(static i => i * 2), seen);
    }

    [Fact(Timeout = Limit)]
    public async Task FanOut_BoundedParallelBlocks_EachMessageOnce_31513()
    {
        var seen = new ConcurrentQueue<int>();
        IPropagatorBlock<int, int> buffer = Blocks.Buffer<int>();
        var options = new ExecutionDataflowBlockOptions { BoundedCapacity = 1, MaxDegreeOfParallelism = 2 };
        ITargetBlock<int>[] workers = [.. Enumerable.Range(0, 4).Select(_ => Blocks.Action<int>(seen.Enqueue, options))];
        Assert.All(workers, w => buffer.LinkTo(w, Propagate));
        buffer.PostAll(Enumerable.Range(0, 2000));
        buffer.Complete();
        await Eventually.Done(Task.WhenAll(workers.Select(static w => w.Completion)));
        Assert.Equal(Enumerable.Range(0, 2000), seen.Order());
    }

    [Fact(Timeout = Limit)]
    public async Task FanIn_SeveralSourcesIntoABound_EachMessageOnceAndEachSourceInOrder()
    {
        var seen = new ConcurrentQueue<(int Source, int Number)>();
        var sink = Blocks.Action<(int Source, int Number)>(seen.Enqueue, new ExecutionDataflowBlockOptions { BoundedCapacity = 2 });
        var sources = Enumerable.Range(0, 3).Select(_ => Blocks.Buffer<(int, int)>(new DataflowBlockOptions { BoundedCapacity = 3 })).ToArray();
        Assert.All(sources, s => s.LinkTo(sink));
        await Task.WhenAll(sources.Select((s, id) => Task.Run(async () =>
        {
            for (int i = 0; i < 200; i++)
            {
                Assert.True(await Eventually.Result(s.SendAsync((id, i))));
            }

            s.Complete();
        })));
        await Eventually.Done(Task.WhenAll(sources.Select(static s => s.Completion)));
        sink.Complete();
        await Eventually.Done(sink.Completion);
        Assert.All(Enumerable.Range(0, 3), id => Assert.Equal(Enumerable.Range(0, 200), seen.Where(m => m.Source == id).Select(static m => m.Number)));
    }

    [Fact(Timeout = Limit)]
    public async Task Circle_OfTwo_PassesTheMessageRound()
    {
        var done = new TaskCompletionSource();
        IPropagatorBlock<int, int> there = Blocks.Transform<int, int>(static i => i + 1);
        IPropagatorBlock<int, int> back = Blocks.Transform<int, int>(i =>
        {
            // The last time round: nothing refers to the first block any more. A block with a message that its completed target declines never ends.
            if (i == 299)
            {
                done.TrySetResult();
            }

            return i + 1;
        });
        there.LinkTo(back);
        back.LinkTo(there, static i => i < 300);
        back.LinkTo(DataflowBlock.NullTarget<int>());
        there.Post(0);
        await Eventually.Done(done.Task);
        there.Complete();
        back.Complete();
        await Eventually.Done(Task.WhenAll(there.Completion, back.Completion));
    }

    [Fact(Timeout = Limit)]
    public async Task Circle_LinkedToItself_PassesTheMessageRound()
    {
        var seen = new ConcurrentQueue<int>();
        IPropagatorBlock<int, int> block = Blocks.Transform<int, int>(i => { seen.Enqueue(i); return i + 1; });
        block.LinkTo(block, static i => i < 50);
        var rest = new ProbeTarget<int>();
        block.LinkTo(rest);
        block.Post(0);
        Eventually.Sequence([50], () => rest.Accepted);
        Assert.Equal(Enumerable.Range(0, 50), seen);
        block.Complete();
        await Eventually.Done(block.Completion);
    }

    [Fact(Timeout = Limit)]
    public async Task Router_FilteredLinks_SortTheMessages()
    {
        var sorted = Enumerable.Range(0, 3).Select(static _ => new ConcurrentQueue<int>()).ToArray();
        IPropagatorBlock<int, int> head = Blocks.Transform<int, int>(static i => i, new ExecutionDataflowBlockOptions { MaxDegreeOfParallelism = 2 });
        ITargetBlock<int>[] ends = [.. sorted.Select((q, k) => Blocks.Action<int>(q.Enqueue, new ExecutionDataflowBlockOptions { BoundedCapacity = k + 1 }))];
        foreach ((ITargetBlock<int> end, int k) in ends.Select(static (e, k) => (e, k)))
        {
            head.LinkTo(end, Propagate, i => i % 3 == k);
        }

        head.PostAll(Enumerable.Range(0, 600));
        head.Complete();
        await Eventually.Done(Task.WhenAll(ends.Select(static e => e.Completion)));
        Assert.All(Enumerable.Range(0, 3), k => Assert.Equal(Enumerable.Range(0, 600).Where(i => i % 3 == k), sorted[k]));
    }

    [Fact(Timeout = Limit)]
    public async Task Diamond_BroadcastTwoWaysJoin_PairsTheSameMessage()
    {
        IPropagatorBlock<int, int> head = Blocks.Broadcast<int>(static i => i);
        IPropagatorBlock<int, int> left = Blocks.Transform<int, int>(static i => i * 2);
        IPropagatorBlock<int, int> right = Blocks.TransformAsync<int, int>(static async i => { await Task.Yield(); return i * 3; });
        var join = Blocks.Join<int, int>();
        var seen = new ConcurrentQueue<(int, int)>();
        ITargetBlock<Tuple<int, int>> end = Blocks.Action<Tuple<int, int>>(t => seen.Enqueue(t.ToValueTuple()));
        head.LinkTo(left, Propagate);
        head.LinkTo(right, Propagate);
        left.LinkTo(join.First, Propagate);
        right.LinkTo(join.Second, Propagate);
        join.Block.LinkTo(end, Propagate);
        head.PostAll(Enumerable.Range(0, 200));
        head.Complete();
        await Eventually.Done(end.Completion);
        Assert.Equal(Enumerable.Range(0, 200).Select(static i => (i * 2, i * 3)), seen);
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.All), MemberType = typeof(Kinds))]
    public async Task Completion_ContinuationBlocks_HoldsNoLock_60768(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind);
        using var gate = new Gate();
        Task continuation = subject.Completion.ContinueWith(
            _ => gate.Pass(),
            CancellationToken.None,
            TaskContinuationOptions.ExecuteSynchronously,
            TaskScheduler.Default);
        Task ending = Task.Run(subject.Block.Complete);
        gate.AwaitArrivals();
        // While the continuation stands, every member must still answer.
        await Eventually.Done(ending);
        await Eventually.Done(Task.Run(() =>
        {
            subject.Input.Post("a");
            subject.Block.Fault(new FormatException());
            subject.Block.Complete();
            _ = subject.Take();
            if (Kinds.HasOutput(kind))
            {
                subject.Output.LinkTo(new ProbeTarget<object>()).Dispose();
            }
        }));
        gate.Open();
        await Eventually.Done(continuation);
    }

    [Fact(Timeout = Limit)]
    public async Task SingleProducerConstrained_OneProducer_KeepsEverything()
    {
        int sum = 0;

        // The worker is busy as the block is completed: Microsoft's lacks a fence there, and may never end if its worker rests at that moment.
        using var gate = new Gate();
        ITargetBlock<int> block = Blocks.Action<int>(
            i =>
            {
                if ((sum += i) == 20_000)
                {
                    gate.Pass();
                }
            },
            new ExecutionDataflowBlockOptions { SingleProducerConstrained = true });
        block.PostAll(Enumerable.Repeat(1, 20_000));
        block.Complete();
        Assert.False(block.Post(1));
        gate.Open();
        await Eventually.Done(block.Completion);
        Assert.Equal(20_000, sum);
    }

    [Theory(Timeout = Limit)]
    [InlineData(1, -1)]
    [InlineData(4, -1)]
    [InlineData(1, 3)]
    [InlineData(4, 3)]
    public async Task Producers_Several_EachMessageOnceAndEachProducerInOrder(int degree, int bound)
    {
        var seen = new ConcurrentQueue<(int Producer, int Number)>();
        IPropagatorBlock<(int Producer, int Number), (int Producer, int Number)> block =
            Blocks.Transform<(int Producer, int Number), (int Producer, int Number)>(
            static m => m,
            new ExecutionDataflowBlockOptions { MaxDegreeOfParallelism = degree, BoundedCapacity = bound });
        ITargetBlock<(int Producer, int Number)> end = Blocks.Action<(int Producer, int Number)>(seen.Enqueue);
        block.LinkTo(end, Propagate);
        await Task.WhenAll(Enumerable.Range(0, 3).Select(p => Task.Run(async () =>
        {
            for (int i = 0; i < 500; i++)
            {
                Assert.True(await Eventually.Result(block.SendAsync((p, i))));
            }
        })));
        block.Complete();
        await Eventually.Done(end.Completion);
        Assert.Equal(1500, seen.Count);
        Assert.All(Enumerable.Range(0, 3), p => Assert.Equal(Enumerable.Range(0, 500), seen.Where(m => m.Producer == p).Select(static m => m.Number)));
    }
}
