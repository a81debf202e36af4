using Weir.Dataflow.Tests.Blocks;
using Weir.Dataflow.Tests.Probes;

namespace Weir.Dataflow.Tests.Contracts;

/// <summary>Which messages make a batch, and when?</summary>
public abstract class BatchContract<TBlocks> : Contract<TBlocks> where TBlocks : BlockFactory, new()
{
    private static readonly GroupingDataflowBlockOptions NonGreedy = new() { Greedy = false };

    [Fact(Timeout = Limit)]
    public async Task Post_SizeReached_MakesABatchAndTheRestAtTheEnd()
    {
        IPropagatorBlock<int, int[]> block = Blocks.Batch<int>(3);
        Assert.Equal(3, (int)block.GetType().GetProperty("BatchSize")!.GetValue(block)!);
        block.PostAll(Enumerable.Range(1, 8));
        Assert.Equal(2, block.Output());
        block.Complete();
        await Eventually.Gives([1, 2, 3], block.ReceiveAsync());
        await Eventually.Gives([4, 5, 6], block.ReceiveAsync());
        await Eventually.Gives([7, 8], block.ReceiveAsync());
        await Eventually.Done(block.Completion);
    }

    [Fact(Timeout = Limit)]
    public async Task Complete_EmptyRest_MakesNoEmptyBatch()
    {
        IPropagatorBlock<int, int[]> block = Blocks.Batch<int>(2);
        block.PostAll(1, 2);
        block.Complete();
        await Eventually.Gives([1, 2], block.ReceiveAsync());
        await Eventually.Done(block.Completion);
        Assert.False(await Eventually.Result(block.OutputAvailableAsync()));
    }

    [Fact]
    public void TriggerBatch_SomeWaiting_MakesASmallerBatch()
    {
        IPropagatorBlock<int, int[]> block = Blocks.Batch<int>(10);
        Trigger(block);
        Never.True(() => block.Output() > 0);
        block.PostAll(1, 2, 3);
        Trigger(block);
        Trigger(block);
        Eventually.Equal(1, () => block.Output());
        Assert.Equal([1, 2, 3], block.Receive());
        Never.True(() => block.Output() > 0);
    }

    [Theory]
    [InlineData(int.MaxValue)]
    [InlineData(100_000_000)]
    [InlineData(1500)]
    public void TriggerBatch_SizeNeverReached_MakesBatchesOfWhatThereIs(int size)
    {
        IPropagatorBlock<int, int[]> block = Blocks.Batch<int>(size);
        for (int count = 1; count <= 5000; count *= 7)
        {
            int triggered = Math.Min(count, size - 1);
            block.PostAll(Enumerable.Range(1, triggered));
            Trigger(block);
            Assert.Equal(Enumerable.Range(1, triggered), block.Receive());
        }
    }

    [Fact]
    public void Post_SizeGrownTo_MakesFullBatches()
    {
        IPropagatorBlock<int, int[]> block = Blocks.Batch<int>(5000);
        block.PostAll(Enumerable.Range(1, 12_000));
        Assert.Equal(Enumerable.Range(1, 5000), block.Receive());
        Assert.Equal(Enumerable.Range(5001, 5000), block.Receive());
        Trigger(block);
        Assert.Equal(Enumerable.Range(10_001, 2000), block.Receive());
    }

    [Theory(Timeout = Limit)]
    [InlineData(1)]
    [InlineData(2)]
    public async Task TriggerBatch_FullWithPendingSends_MakesABatchOfWhatComes(int sends)
    {
        IPropagatorBlock<int, int[]> block = Blocks.Batch<int>(3, new GroupingDataflowBlockOptions { BoundedCapacity = 3 });
        block.PostAll(1, 2, 3);
        Task<bool>[] sent = [.. Enumerable.Range(10, sends).Select(i => block is BatchBlock<int> own ? own.SendAsync(i) : block.SendAsync(i))];
        Trigger(block);
        await Eventually.Gives([1, 2, 3], block.ReceiveAsync());
        await Eventually.Gives([.. Enumerable.Range(10, sends)], block.ReceiveAsync());
        Assert.All(await Eventually.Result(Task.WhenAll(sent)), Assert.True);

        // A receiver that has waited may have its batch before the block has the room of its messages back.
        Eventually.True(() => block.Post(20));
        Eventually.True(() => block.Post(21));
        Never.True(() => block.Output() > 0);
    }

    [Fact(Timeout = Limit)]
    public async Task TriggerBatch_Ended_DoesNothing()
    {
        IPropagatorBlock<int, int[]> block = Blocks.Batch<int>(2);
        block.Complete();
        await Eventually.Done(block.Completion);
        Trigger(block);
        Assert.Equal(0, block.Output());
    }

    [Fact(Timeout = Limit)]
    public async Task MaxNumberOfGroups_Reached_CompletesAndDeclines()
    {
        IPropagatorBlock<int, int[]> block = Blocks.Batch<int>(2, new GroupingDataflowBlockOptions { MaxNumberOfGroups = 2 });
        block.PostAll(1, 2, 3, 4);
        Assert.False(block.Post(5));
        await Eventually.Gives([1, 2], block.ReceiveAsync());
        Assert.False(block.Completion.IsCompleted);
        await Eventually.Gives([3, 4], block.ReceiveAsync());
        await Eventually.Done(block.Completion);
    }

    [Fact(Timeout = Limit)]
    public async Task MaxNumberOfGroups_TriggeredBatch_Counts()
    {
        IPropagatorBlock<int, int[]> block = Blocks.Batch<int>(5, new GroupingDataflowBlockOptions { MaxNumberOfGroups = 1 });
        block.PostAll(1, 2);
        Trigger(block);
        Eventually.True(() => !block.Post(3));
        int[] first = await Eventually.Result(block.ReceiveAsync());
        Assert.Equal([1, 2], first[..2]);
        await Eventually.Done(block.Completion);
    }

    [Theory(Timeout = Limit)]
    [InlineData(5)]
    [InlineData(3)]
    public async Task MaxNumberOfGroups_LastBatchIsMadeWhenRoomComes_Completes(int bound)
    {
        IPropagatorBlock<int, int[]> block = Blocks.Batch<int>(2, new GroupingDataflowBlockOptions { BoundedCapacity = bound, MaxNumberOfGroups = 2 });
        Trigger(block);
        block.PostAll(1, 2, 3);
        await Eventually.Gives([1, 2], block.ReceiveAsync());
        await Eventually.Gives([3], block.ReceiveAsync());
        await Eventually.Done(block.Completion);
    }

    [Fact(Timeout = Limit)]
    public async Task MaxNumberOfGroups_LastBatchIsMadeWhenRoomComesAndASendWaits_CompletesAndDeclinesIt()
    {
        IPropagatorBlock<int, int[]> block = Blocks.Batch<int>(2, new GroupingDataflowBlockOptions { BoundedCapacity = 3, MaxNumberOfGroups = 2 });
        Trigger(block);
        block.PostAll(1, 2, 3);
        Task<bool>[] sent = [block.SendAsync(4), block.SendAsync(5)];
        List<int> seen = [.. await Eventually.Result(block.ReceiveAsync())];
        seen.AddRange(await Eventually.Result(block.ReceiveAsync()));
        await Eventually.Done(block.Completion);
        bool[] taken = await Eventually.Result(Task.WhenAll(sent));
        Assert.Equal(taken[0] ? [1, 2, 3, 4] : [1, 2, 3], seen);
        Assert.False(taken[1]);
    }

    [Fact(Timeout = Limit)]
    public async Task NonGreedy_OneSendIsCancelled_ThoseBehindItStayInOrder()
    {
        var scheduler = new ManualScheduler();
        using var cancel = new CancellationTokenSource();
        var options = new GroupingDataflowBlockOptions { Greedy = false, TaskScheduler = scheduler };
        IPropagatorBlock<int, int[]> block = Blocks.Batch<int>(2, options);
        Task<bool> cancelled = block.SendAsync(1, cancel.Token);
        Task<bool>[] sent = [block.SendAsync(2), block.SendAsync(3)];
        await cancel.CancelAsync();
        Assert.Equal(TaskStatus.Canceled, await Eventually.Status(cancelled));
        Eventually.True(() => { scheduler.RunAll(); return block.Output() == 1; });
        await Eventually.Gives([2, 3], block.ReceiveAsync());
        Assert.All(await Eventually.Result(Task.WhenAll(sent)), Assert.True);
    }

    [Fact]
    public void NonGreedy_Post_IsDeclined()
    {
        IPropagatorBlock<int, int[]> block = Blocks.Batch<int>(2, NonGreedy);
        Assert.False(block.Post(1));
        Assert.Equal(DataflowMessageStatus.Declined, block.OfferMessage(new(1), 1, null, false));
    }

    [Fact]
    public void NonGreedy_EnoughOffered_ReservesAllThenConsumesAll()
    {
        IPropagatorBlock<int, int[]> block = Blocks.Batch<int>(2, NonGreedy);
        ProbeSource<int>[] sources = [new(), new()];
        Assert.Equal(DataflowMessageStatus.Postponed, sources[0].OfferTo(block, 1, 10));
        Never.True(() => sources[0].Calls.Length > 0);
        Assert.Equal(DataflowMessageStatus.Postponed, sources[1].OfferTo(block, 1, 20));
        Eventually.Equal(1, () => block.Output());
        Assert.Equal([10, 20], block.Receive().Order());
        Assert.All(sources, static s => Assert.Equal(["reserve 1", "consume 1"], s.Calls));
    }

    [Fact]
    public void NonGreedy_OneRefusesReservation_ReleasesTheOther()
    {
        IPropagatorBlock<int, int[]> block = Blocks.Batch<int>(2, NonGreedy);
        var good = new ProbeSource<int>();
        var bad = new ProbeSource<int> { GrantsReservation = false };
        Assert.Equal(DataflowMessageStatus.Postponed, good.OfferTo(block, 1, 10));
        Assert.Equal(DataflowMessageStatus.Postponed, bad.OfferTo(block, 1, 20));
        Eventually.True(() => bad.Calls.Contains("reserve 1"));
        Eventually.True(() => good.Calls.Length == 0 || good.Calls.Contains("release 1"));
        Assert.DoesNotContain("consume 1", good.Calls);
        var third = new ProbeSource<int>();
        Assert.Equal(DataflowMessageStatus.Postponed, third.OfferTo(block, 1, 30));
        if (good.Calls.Contains("release 1"))
        {
            good.OfferTo(block, 2, 11);
        }

        Eventually.Equal(1, () => block.Output());
        Assert.Contains(30, block.Receive());
    }

    [Fact(Timeout = Limit)]
    public async Task NonGreedy_TwoSourcesThatSend_MakesOneBatchOfBoth()
    {
        IPropagatorBlock<int, int[]> block = Blocks.Batch<int>(2, NonGreedy);
        Task<bool> first = block.SendAsync(1);
        Never.True(() => first.IsCompleted);
        Task<bool> second = block.SendAsync(2);
        int[] batch = await Eventually.Result(block.ReceiveAsync());
        Assert.Equal([1, 2], batch.Order());
        Assert.True(await Eventually.Result(first));
        Assert.True(await Eventually.Result(second));
    }

    [Fact(Timeout = Limit)]
    public async Task NonGreedy_Completed_DropsWhatWasOnlyOffered()
    {
        IPropagatorBlock<int, int[]> block = Blocks.Batch<int>(2, NonGreedy);
        Task<bool> sent = block.SendAsync(1);
        block.Complete();
        Assert.False(await Eventually.Result(sent));
        await Eventually.Done(block.Completion);
        Assert.False(block.Receivable().TryReceive(out _));
    }

    [Fact(Timeout = Limit)]
    public async Task NonGreedy_TriggerBatch_TakesWhatIsOffered()
    {
        IPropagatorBlock<int, int[]> block = Blocks.Batch<int>(5, NonGreedy);
        Task<bool> sent = block.SendAsync(1);
        Trigger(block);
        Assert.True(await Eventually.Result(sent));
        await Eventually.Gives([1], block.ReceiveAsync());
    }

    [Fact(Timeout = Limit)]
    public async Task NonGreedy_LinkedBuffers_TakesOneOfEach()
    {
        IPropagatorBlock<int, int[]> block = Blocks.Batch<int>(3, NonGreedy);
        IPropagatorBlock<int, int>[] buffers = [Blocks.Buffer<int>(), Blocks.Buffer<int>(), Blocks.Buffer<int>()];
        foreach (IPropagatorBlock<int, int> buffer in buffers)
        {
            buffer.LinkTo(block);
            buffer.PostAll(Enumerable.Range(1, 20));
        }

        for (int i = 1; i <= 20; i++)
        {
            int[] batch = await Eventually.Result(block.ReceiveAsync());
            Assert.Equal([i, i, i], batch);
        }
    }

    [Fact(Timeout = Limit)]
    public async Task Bounded_SlowReader_LosesNothing()
    {
        IPropagatorBlock<int, int[]> block = Blocks.Batch<int>(3, new GroupingDataflowBlockOptions { BoundedCapacity = 4 });
        Task producer = Task.Run(async () =>
        {
            for (int i = 0; i < 301; i++)
            {
                Assert.True(await block.SendAsync(i));
            }

            block.Complete();
        });
        var seen = new List<int>();
        await foreach (int[] batch in block.Receivable().ReceiveAllAsync())
        {
            Assert.InRange(batch.Length, 1, 3);
            seen.AddRange(batch);
        }

        await Eventually.Done(producer);
        Assert.Equal(Enumerable.Range(0, 301), seen);
        await Eventually.Done(block.Completion);
    }

    [Theory(Timeout = Limit)]
    [InlineData(EndingOf.Cancel)]
    [InlineData(EndingOf.Fault)]
    public async Task End_BatchIncomplete_DropsIt(EndingOf ending)
    {
        using var cancel = new CancellationTokenSource();
        IPropagatorBlock<int, int[]> block = Blocks.Batch<int>(3, new GroupingDataflowBlockOptions { CancellationToken = cancel.Token });
        block.PostAll(1, 2);
        block.End(ending, cancel);
        Assert.Equal(ending.Status(), await Eventually.Status(block.Completion));
        Assert.False(block.Receivable().TryReceive(out _));
        Assert.Equal(0, block.Output());
    }

    private static void Trigger(IDataflowBlock block) => block.GetType().GetMethod("TriggerBatch")!.Invoke(block, null);
}
