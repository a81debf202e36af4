using Weir.Dataflow.Tests.Blocks;
using Weir.Dataflow.Tests.Probes;

namespace Weir.Dataflow.Tests.Contracts;

/// <summary>Which messages make a tuple, and what ends a join?</summary>
public abstract class JoinContract<TBlocks> : Contract<TBlocks> where TBlocks : BlockFactory, new()
{
    private static readonly GroupingDataflowBlockOptions NonGreedy = new() { Greedy = false };

    [Fact(Timeout = Limit)]
    public async Task Post_BothSides_PairsInOrder()
    {
        var join = Blocks.Join<int, string>();
        join.First.PostAll(1, 2, 3);
        Never.True(() => join.Block.TryReceive(out _));
        join.Second.PostAll("a", "b");
        Assert.Equal((1, "a"), (await Eventually.Result(join.Block.ReceiveAsync())).ToValueTuple());
        Assert.Equal((2, "b"), (await Eventually.Result(join.Block.ReceiveAsync())).ToValueTuple());
        Assert.False(join.Block.TryReceive(out _));
        join.Block.Complete();
        await Eventually.Done(join.Block.Completion);
    }

    [Fact(Timeout = Limit)]
    public async Task Post_ThreeSides_MakesTriples()
    {
        var join = Blocks.Join<int, string, char>();
        join.First.PostAll(1, 2);
        join.Second.PostAll("a", "b");
        join.Third.PostAll('x', 'y');
        Assert.Equal((1, "a", 'x'), (await Eventually.Result(join.Block.ReceiveAsync())).ToValueTuple());
        Assert.Equal((2, "b", 'y'), (await Eventually.Result(join.Block.ReceiveAsync())).ToValueTuple());
    }

    [Fact(Timeout = Limit)]
    public async Task Complete_OneTargetWithNothingLeft_EndsTheJoin()
    {
        var join = Blocks.Join<int, int>();
        Assert.True(join.First.Post(1));
        join.Second.PostAll(10, 20);
        join.First.Complete();
        Assert.False(join.First.Post(2));
        Assert.Equal((1, 10), (await Eventually.Result(join.Block.ReceiveAsync())).ToValueTuple());
        await Eventually.Done(join.Block.Completion);
        Assert.False(join.Second.Post(30));
    }

    [Fact(Timeout = Limit)]
    public async Task Complete_OneTargetWithMessagesLeft_WaitsForTheirPartners()
    {
        var join = Blocks.Join<int, int>();
        join.First.PostAll(1, 2);
        join.First.Complete();
        Never.True(() => join.Block.Completion.IsCompleted);
        Assert.True(join.Second.Post(10));
        Assert.Equal((1, 10), (await Eventually.Result(join.Block.ReceiveAsync())).ToValueTuple());
        Never.True(() => join.Block.Completion.IsCompleted);
        Assert.True(join.Second.Post(20));
        Assert.Equal((2, 20), (await Eventually.Result(join.Block.ReceiveAsync())).ToValueTuple());
        await Eventually.Done(join.Block.Completion);
    }

    [Fact(Timeout = Limit)]
    public async Task Complete_TheBlock_DropsUnpaired()
    {
        var join = Blocks.Join<int, int>();
        join.First.PostAll(1, 2);
        Assert.True(join.Second.Post(10));
        Eventually.Equal(1, () => join.Block.Output());
        join.Block.Complete();
        Assert.False(join.Second.Post(20));
        Assert.Equal((1, 10), (await Eventually.Result(join.Block.ReceiveAsync())).ToValueTuple());
        await Eventually.Done(join.Block.Completion);
    }

    [Fact(Timeout = Limit)]
    public async Task Fault_OneTarget_FaultsTheJoin()
    {
        var join = Blocks.Join<int, int>();
        Assert.True(join.First.Post(1));
        var error = new FormatException("target");
        join.Second.Fault(error);
        Assert.Equal(TaskStatus.Faulted, await Eventually.Status(join.Block.Completion));
        Assert.Same(error, join.Block.Completion.Exception!.Flatten().InnerExceptions[0]);
        Assert.False(join.First.Post(2));
    }

    [Fact]
    public void Completion_OfATarget_IsNotToBeHad()
    {
        var join = Blocks.Join<int, int>();
        Assert.Throws<NotSupportedException>(() => { _ = join.First.Completion; });
        var batched = Blocks.BatchedJoin<int, int>(2);
        Assert.Throws<NotSupportedException>(() => { _ = batched.First.Completion; });
    }

    [Fact(Timeout = Limit)]
    public async Task MaxNumberOfGroups_Reached_CompletesAndDeclines()
    {
        var join = Blocks.Join<int, int>(new GroupingDataflowBlockOptions { MaxNumberOfGroups = 1 });
        Assert.True(join.First.Post(1));
        Assert.False(join.First.Post(2));
        Assert.True(join.Second.Post(10));
        Assert.False(join.Second.Post(20));
        Assert.Equal((1, 10), (await Eventually.Result(join.Block.ReceiveAsync())).ToValueTuple());
        await Eventually.Done(join.Block.Completion);
    }

    [Fact]
    public void NonGreedy_Post_IsDeclined()
    {
        var join = Blocks.Join<int, int>(NonGreedy);
        Assert.False(join.First.Post(1));
        Assert.False(join.Second.Post(1));
    }

    [Fact]
    public void NonGreedy_OneSideOnly_TouchesNothing()
    {
        var join = Blocks.Join<int, int>(NonGreedy);
        var source = new ProbeSource<int>();
        Assert.Equal(DataflowMessageStatus.Postponed, source.OfferTo(join.First, 1, 10));
        Never.True(() => source.Calls.Length > 0);
    }

    [Fact]
    public void NonGreedy_BothSides_ReservesBothThenConsumesBoth()
    {
        var join = Blocks.Join<int, int>(NonGreedy);
        ProbeSource<int>[] sources = [new(), new()];
        sources[0].OfferTo(join.First, 1, 10);
        sources[1].OfferTo(join.Second, 1, 20);
        Eventually.Equal(1, () => join.Block.Output());
        Assert.Equal((10, 20), join.Block.Receive().ToValueTuple());
        Assert.All(sources, static s => Assert.Equal(["reserve 1", "consume 1"], s.Calls));
    }

    [Fact]
    public void NonGreedy_SecondRefuses_ReleasesTheFirst()
    {
        var join = Blocks.Join<int, int>(NonGreedy);
        var good = new ProbeSource<int>();
        var bad = new ProbeSource<int> { GrantsReservation = false };
        good.OfferTo(join.First, 1, 10);
        bad.OfferTo(join.Second, 1, 20);
        Eventually.True(() => bad.Calls.Contains("reserve 1"));
        Eventually.True(() => good.Calls.Count(static c => c == "reserve 1") == good.Calls.Count(static c => c == "release 1"));
        Assert.DoesNotContain("consume 1", good.Calls);
        Assert.Equal(0, join.Block.Output());
    }

    [Fact(Timeout = Limit)]
    public async Task NonGreedy_TwoJoinsOverTheSameBuffers_ShareWithoutLoss()
    {
        IPropagatorBlock<int, int> left = Blocks.Buffer<int>();
        IPropagatorBlock<int, int> right = Blocks.Buffer<int>();
        var joins = new[] { Blocks.Join<int, int>(NonGreedy), Blocks.Join<int, int>(NonGreedy) };
        var seen = new ConcurrentQueue<(int, int)>();
        foreach (var join in joins)
        {
            left.LinkTo(join.First);
            right.LinkTo(join.Second);
            join.Block.LinkTo(Blocks.Action<Tuple<int, int>>(t => seen.Enqueue(t.ToValueTuple())));
        }

        Task posts = Task.WhenAll(Task.Run(() => left.PostAll(Enumerable.Range(0, 100))), Task.Run(() => right.PostAll(Enumerable.Range(0, 100))));
        await Eventually.Done(posts);
        Eventually.Equal(100, () => seen.Count);
        Assert.Equal(Enumerable.Range(0, 100), seen.Select(static t => t.Item1).Order());
        Assert.Equal(Enumerable.Range(0, 100), seen.Select(static t => t.Item2).Order());
    }

    [Fact(Timeout = Limit)]
    public async Task NonGreedy_OneSendIsCancelled_TheOthersStayInOrder()
    {
        var scheduler = new ManualScheduler();
        using var cancel = new CancellationTokenSource();
        var join = Blocks.Join<int, int>(new GroupingDataflowBlockOptions { Greedy = false, TaskScheduler = scheduler });
        Task<bool> cancelled = join.Second.SendAsync(9, cancel.Token);
        Task<bool>[] sent = [join.Second.SendAsync(10), join.Second.SendAsync(20), join.First.SendAsync(1), join.First.SendAsync(2)];
        await cancel.CancelAsync();
        Assert.Equal(TaskStatus.Canceled, await Eventually.Status(cancelled));
        Eventually.True(() => { scheduler.RunAll(); return join.Block.Output() == 2; });
        Assert.Equal((1, 10), join.Block.Receive().ToValueTuple());
        Assert.Equal((2, 20), join.Block.Receive().ToValueTuple());
        Assert.All(await Eventually.Result(Task.WhenAll(sent)), Assert.True);
    }

    [Fact(Timeout = Limit)]
    public async Task NonGreedy_Completed_ReleasesTheSenders()
    {
        var join = Blocks.Join<int, int>(NonGreedy);
        Task<bool> sent = join.First.SendAsync(1);
        join.Block.Complete();
        Assert.False(await Eventually.Result(sent));
        await Eventually.Done(join.Block.Completion);
    }

    [Fact(Timeout = Limit)]
    public async Task BatchedJoin_AnySideReachesTheSum_MakesABatch()
    {
        var join = Blocks.BatchedJoin<int, string>(3);
        Assert.Equal(3, (int)join.Block.GetType().GetProperty("BatchSize")!.GetValue(join.Block)!);
        Assert.True(join.First.Post(1));
        Assert.True(join.Second.Post("a"));
        Assert.True(join.First.Post(2));
        Assert.True(join.Second.Post("b"));
        Tuple<IList<int>, IList<string>> first = await Eventually.Result(join.Block.ReceiveAsync());
        Assert.Equal([1, 2], first.Item1.ToArray());
        Assert.Equal(["a"], first.Item2);
        join.Block.Complete();
        Tuple<IList<int>, IList<string>> rest = await Eventually.Result(join.Block.ReceiveAsync());
        Assert.Empty(rest.Item1);
        Assert.Equal(["b"], rest.Item2);
        await Eventually.Done(join.Block.Completion);
    }

    [Fact(Timeout = Limit)]
    public async Task BatchedJoin_AllTargetsComplete_EndsWithTheRest()
    {
        var join = Blocks.BatchedJoin<int, int, int>(10);
        Assert.True(join.First.Post(1));
        Assert.True(join.Third.Post(3));
        join.First.Complete();
        join.Second.Complete();
        Never.True(() => join.Block.Completion.IsCompleted);
        join.Third.Complete();
        var rest = await Eventually.Result(join.Block.ReceiveAsync());
        Assert.Equal([1], rest.Item1.ToArray());
        Assert.Empty(rest.Item2);
        Assert.Equal([3], rest.Item3.ToArray());
        await Eventually.Done(join.Block.Completion);
    }

    [Fact(Timeout = Limit)]
    public async Task BatchedJoin_MaxNumberOfGroups_CompletesAndDeclines()
    {
        var join = Blocks.BatchedJoin<int, int>(2, new GroupingDataflowBlockOptions { MaxNumberOfGroups = 1 });
        Assert.True(join.First.Post(1));
        Assert.True(join.Second.Post(2));
        Assert.False(join.First.Post(3));
        Assert.False(join.Second.Post(3));
        var batch = await Eventually.Result(join.Block.ReceiveAsync());
        Assert.Equal([1], batch.Item1.ToArray());
        Assert.Equal([2], batch.Item2.ToArray());
        await Eventually.Done(join.Block.Completion);
    }

    [Fact(Timeout = Limit)]
    public async Task BatchedJoin_TargetFaults_FaultsTheBlock()
    {
        var join = Blocks.BatchedJoin<int, int>(2);
        var error = new FormatException("target");
        join.First.Fault(error);
        Assert.Equal(TaskStatus.Faulted, await Eventually.Status(join.Block.Completion));
        Assert.Same(error, join.Block.Completion.Exception!.Flatten().InnerExceptions[0]);
        Assert.False(join.Second.Post(1));
    }
}
