using Weir.Dataflow.Tests.Blocks;
using Weir.Dataflow.Tests.Probes;

namespace Weir.Dataflow.Tests.Contracts;

/// <summary>What counts against BoundedCapacity, and when is a slot free again?</summary>
public abstract class BoundingContract<TBlocks> : Contract<TBlocks> where TBlocks : BlockFactory, new()
{
    [Theory]
    [MemberData(nameof(Kinds.BoundedQueues), MemberType = typeof(Kinds))]
    public void Post_BoundReached_IsRefusedUntilOneIsTaken(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind, new BlockSettings { Bound = 3 });
        subject.FeedAll("a", "b", "c");
        Assert.False(subject.Input.Post("d"));
        Eventually.True(() => subject.Has(3));
        Assert.False(subject.Input.Post("d"));
        Eventually.True(() => subject.Take() is not null);
        Eventually.True(() => subject.Feed("d"));
        Assert.False(subject.Input.Post("e"));
    }

    [Theory]
    [MemberData(nameof(Kinds.Transforming), MemberType = typeof(Kinds))]
    public void Post_InputRunningAndOutput_AllCount(BlockKind kind)
    {
        using var gate = new Gate();
        Subject subject = Blocks.Create(kind, new BlockSettings { Bound = 3, Body = s => { if (s == "b") { gate.Pass(); } } });
        Assert.True(subject.Feed("a"));
        Eventually.True(() => subject.Has(1));
        Assert.True(subject.Feed("b"));
        gate.AwaitArrivals();
        Assert.True(subject.Feed("c"));
        Assert.Equal(1, subject.InputCount);
        Assert.Equal(1, subject.OutputCount);
        Assert.False(subject.Feed("d"));
        gate.Open();
    }

    [Theory]
    [InlineData(BlockKind.Action)]
    [InlineData(BlockKind.ActionAsync)]
    public void Post_DelegateRunning_KeepsItsSlot(BlockKind kind)
    {
        using var gate = new Gate();
        Subject subject = Blocks.Create(kind, new BlockSettings { Bound = 1, Body = _ => gate.Pass() });
        Assert.True(subject.Feed("a"));
        gate.AwaitArrivals();
        Assert.Equal(0, subject.InputCount);
        Assert.False(subject.Feed("b"));
        gate.Open();
        Eventually.True(() => subject.Feed("b"));
    }

    [Fact(Timeout = Limit)]
    public async Task Post_AsyncDelegatePending_KeepsItsSlot()
    {
        var pending = new TaskCompletionSource();
        ITargetBlock<int> block = Blocks.ActionAsync<int>(_ => pending.Task, new ExecutionDataflowBlockOptions { BoundedCapacity = 1 });
        Assert.True(block.Post(1));
        Assert.False(block.Post(2));
        Task<bool> sent = block.SendAsync(2);
        Never.True(() => sent.IsCompleted);
        pending.SetResult();
        Assert.True(await Eventually.Result(sent));
    }

    [Theory]
    [MemberData(nameof(Kinds.Executing), MemberType = typeof(Kinds))]
    public void Post_DelegateCancelled_FreesItsSlot(BlockKind kind)
    {
        Subject subject = Blocks.Create(kind, new BlockSettings { Bound = 1, Body = static _ => throw new OperationCanceledException() });
        Assert.True(subject.Feed("a"));
        Eventually.True(() => subject.Feed("b"));
        Eventually.True(() => subject.Feed("c"));
    }

    [Theory]
    [MemberData(nameof(Kinds.Transforming), MemberType = typeof(Kinds))]
    public void Offer_TargetAccepts_FreesTheSlot(BlockKind kind)
    {
        (Subject subject, ProbeTarget<object> target) = Linked(kind, settings: new BlockSettings { Bound = 1 });
        for (int i = 0; i < 5; i++)
        {
            string item = $"{i}";
            Eventually.True(() => subject.Feed(item));
        }

        Eventually.Sequence([1L, 2, 3, 4, 5], () => target.Ids);
    }

    [Theory]
    [InlineData(BlockKind.Many)]
    [InlineData(BlockKind.ManyAsync)]
    [InlineData(BlockKind.ManyStream)]
    public void Many_SeveralOutputs_AllCountUntilTaken(BlockKind kind)
    {
        var options = new ExecutionDataflowBlockOptions { BoundedCapacity = 2 };
        IPropagatorBlock<int, int> block = kind switch
        {
            BlockKind.Many => Blocks.Many<int, int>(static i => Enumerable.Range(0, i), options),
            BlockKind.ManyAsync => Blocks.ManyAsync<int, int>(static i => Task.FromResult(Enumerable.Range(0, i)), options),
            _ => Blocks.ManyStream<int, int>(static i => Enumerable.Range(0, i).ToAsyncEnumerable(), options),
        };
        Assert.True(block.Post(3));

        // Before all three are out, the message still counts as one, and taking an output makes room.
        Eventually.Equal(3, () => block.Output());
        Taken(block, 0);
        Never.True(() => block.Post(1));
        Taken(block, 1);
        Eventually.True(() => block.Post(0), "One output is left, so one more message fits.");
        Taken(block, 2);
    }

    [Fact]
    public void Many_NoOutput_FreesTheSlot()
    {
        IPropagatorBlock<int, int> block = Blocks.Many<int, int>(static _ => [], new ExecutionDataflowBlockOptions { BoundedCapacity = 1 });
        for (int i = 0; i < 5; i++)
        {
            Eventually.True(() => block.Post(1));
        }
    }

    [Fact]
    public void Batch_Bounded_CountsTheItemsNotTheBatches()
    {
        IPropagatorBlock<int, int[]> block = Blocks.Batch<int>(2, new GroupingDataflowBlockOptions { BoundedCapacity = 4 });
        block.PostAll(Enumerable.Range(0, 4));
        Assert.False(block.Post(4));
        Assert.Equal([0, 1], block.Receive());
        Eventually.True(() => block.Post(4));
        Assert.True(block.Post(5));
        Assert.False(block.Post(6));
    }

    [Fact]
    public void Join_Bounded_BoundsEachTargetByItself()
    {
        JoinParts<int, int, Tuple<int, int>> join = Blocks.Join<int, int>(new GroupingDataflowBlockOptions { BoundedCapacity = 2 });
        Assert.True(join.First.Post(1));
        Assert.True(join.First.Post(2));
        Assert.False(join.First.Post(3));
        Assert.True(join.Second.Post(10));
        Eventually.True(() => join.Block.Has(1));
        // The pair waits in the output and still counts for both.
        Assert.False(join.First.Post(3));
        Assert.True(join.Second.Post(20));
        Assert.False(join.Second.Post(30));
        Assert.Equal((1, 10), join.Block.Receive().ToValueTuple());
        Eventually.True(() => join.First.Post(3));
    }

    [Theory(Timeout = Limit)]
    [InlineData(1, 1)]
    [InlineData(2, 1)]
    [InlineData(7, 3)]
    public async Task SendAsync_SlowTarget_NeverHoldsMoreThanTheBound(int bound, int degree)
    {
        (int inside, int most) = (0, 0);
        IPropagatorBlock<int, int> block = Blocks.Transform<int, int>(
            static i => i,
            new ExecutionDataflowBlockOptions { BoundedCapacity = bound, MaxDegreeOfParallelism = degree });
        Task producer = Task.Run(async () =>
        {
            for (int i = 0; i < 300; i++)
            {
                Assert.True(await block.SendAsync(i));
                most = Math.Max(most, Interlocked.Increment(ref inside));
            }

            block.Complete();
        });
        for (int i = 0; i < 300; i++)
        {
            // Counted down before it is taken: what counts as inside is never more than what is.
            Interlocked.Decrement(ref inside);
            Assert.Equal(i, await Eventually.Result(block.ReceiveAsync()));
        }

        await Eventually.Done(producer);
        await Eventually.Done(block.Completion);
        Assert.InRange(most, int.MinValue, bound);
    }

    private static void Taken(ISourceBlock<int> block, int expected)
    {
        int item = -1;
        Eventually.True(() => block.Receivable().TryReceive(null, out item));
        Assert.Equal(expected, item);
    }
}
