using Weir.Dataflow.Tests.Probes;
using Weir.TestKit;

namespace Weir.Dataflow.Tests.Additions;

/// <summary>Do the blocks that Microsoft does not have do what they promise?</summary>
public class SourceAndFlushTests
{
    private const int Limit = Eventually.Limit;

    [Fact(Timeout = Limit)]
    public async Task From_Sequence_GivesItAndEnds()
    {
        IReceivableSourceBlock<int> source = DataflowBlocks.From(Enumerable.Range(0, 100).ToAsyncEnumerable());
        int[] all = await Eventually.Result(source.ReceiveAllAsync().ToArrayAsync().AsTask());
        Assert.Equal(Enumerable.Range(0, 100), all);
        await Eventually.Done(source.Completion);
    }

    [Fact(Timeout = Limit)]
    public async Task From_SequenceThrows_FaultsAfterWhatCameBefore()
    {
        static async IAsyncEnumerable<int> Items()
        {
            yield return 1;
            await Task.Yield();
            throw new FormatException("sequence");
        }

        IReceivableSourceBlock<int> source = DataflowBlocks.From(Items());
        Assert.Equal(TaskStatus.Faulted, await Eventually.Status(source.Completion));
        Assert.Equal("sequence", source.Completion.Exception!.Flatten().InnerExceptions[0].Message);
    }

    [Fact(Timeout = Limit)]
    public async Task From_Bounded_ReadsNoFurtherThanTheBound()
    {
        int read = 0;
        async IAsyncEnumerable<int> Items()
        {
            for (int i = 0; i < 100; i++)
            {
                Volatile.Write(ref read, i + 1);
                yield return i;
            }
        }

        IReceivableSourceBlock<int> source = DataflowBlocks.From(Items(), new DataflowBlockOptions { BoundedCapacity = 3 });
        Eventually.True(() => Volatile.Read(ref read) >= 3);
        Never.True(() => Volatile.Read(ref read) > 4);
        int[] all = await Eventually.Result(source.ReceiveAllAsync().ToArrayAsync().AsTask());
        Assert.Equal(100, all.Length);
    }

    [Fact(Timeout = Limit)]
    public async Task From_Cancelled_DisposesTheSequence()
    {
        using var cancel = new CancellationTokenSource();
        int disposed = 0;
        async IAsyncEnumerable<int> Items()
        {
            try
            {
                for (int i = 0; ; i++)
                {
                    yield return i;
                }
            }
            finally
            {
                Volatile.Write(ref disposed, 1);
            }
        }

        IReceivableSourceBlock<int> source = DataflowBlocks.From(Items(), new DataflowBlockOptions { BoundedCapacity = 1, CancellationToken = cancel.Token });
        Assert.Equal(0, await Eventually.Result(source.ReceiveAsync()));
        await cancel.CancelAsync();
        Assert.Equal(TaskStatus.Canceled, await Eventually.Status(source.Completion));
        Eventually.Equal(1, () => Volatile.Read(ref disposed));
    }

    [Fact(Timeout = Limit)]
    public async Task Flush_TimeIsUp_HandsOutTheIncompleteBatch()
    {
        var clock = new ManualTimeProvider();
        var block = new BatchBlock<int>(10, TimeSpan.FromSeconds(5), clock, new GroupingDataflowBlockOptions());
        block.Post(1);
        clock.Advance(TimeSpan.FromSeconds(3));
        block.Post(2);
        clock.Advance(TimeSpan.FromSeconds(1));
        Assert.Equal(0, block.OutputCount);
        clock.Advance(TimeSpan.FromSeconds(1));
        await Eventually.Gives([1, 2], block.ReceiveAsync());
        clock.Advance(TimeSpan.FromSeconds(60));
        Assert.False(block.TryReceive(out _));
    }

    [Fact(Timeout = Limit)]
    public async Task Flush_BatchFullInTime_StartsTheClockAnewWithTheNext()
    {
        var clock = new ManualTimeProvider();
        var block = new BatchBlock<int>(2, TimeSpan.FromSeconds(5), clock, new GroupingDataflowBlockOptions());
        block.Post(1);
        clock.Advance(TimeSpan.FromSeconds(4));
        block.Post(2);
        await Eventually.Gives([1, 2], block.ReceiveAsync());
        block.Post(3);
        clock.Advance(TimeSpan.FromSeconds(4));
        Never.True(() => block.OutputCount > 0);
        clock.Advance(TimeSpan.FromSeconds(1));
        await Eventually.Gives([3], block.ReceiveAsync());
    }

    [Fact(Timeout = Limit)]
    public async Task Flush_NotGreedy_TakesWhatHasWaitedThatLong()
    {
        var clock = new ManualTimeProvider();
        var block = new BatchBlock<int>(3, TimeSpan.FromSeconds(5), clock, new GroupingDataflowBlockOptions { Greedy = false });
        Task<bool>[] sent = [block.SendAsync(1), block.SendAsync(2)];
        clock.Advance(TimeSpan.FromSeconds(4));
        Never.True(() => block.OutputCount > 0);
        clock.Advance(TimeSpan.FromSeconds(1));
        Assert.Equal([1, 2], (await Eventually.Result(block.ReceiveAsync())).Order());
        Assert.All(await Eventually.Result(Task.WhenAll(sent)), Assert.True);
        clock.Advance(TimeSpan.FromSeconds(60));

        // Nothing waited, so nothing was asked for that the next message would be.
        sent = [block.SendAsync(3), block.SendAsync(4), block.SendAsync(5), block.SendAsync(6)];
        Assert.Equal(3, (await Eventually.Result(block.ReceiveAsync())).Length);
        Never.True(() => block.OutputCount > 0);
        Eventually.True(() => { clock.Advance(TimeSpan.FromSeconds(1)); return block.OutputCount > 0; });
        Assert.Single(await Eventually.Result(block.ReceiveAsync()));
        Assert.All(await Eventually.Result(Task.WhenAll(sent)), Assert.True);
    }

    [Fact(Timeout = Limit)]
    public async Task Flush_NoClockGiven_GoesByTheSystemsClock()
    {
        TimeSpan soon = TimeSpan.FromMilliseconds(1);
        var plain = new BatchBlock<int>(10, soon);
        var bounded = new BatchBlock<int>(2, soon, new GroupingDataflowBlockOptions { BoundedCapacity = 2 });
        Assert.Equal((10, 2), (plain.BatchSize, bounded.BatchSize));
        plain.PostAll(1);
        bounded.PostAll(2);
        await Eventually.Gives([1], plain.ReceiveAsync());
        await Eventually.Gives([2], bounded.ReceiveAsync());

        // The options are the block's: with more than it may have, a message waits.
        var never = new BatchBlock<int>(2, TimeSpan.FromDays(1), new GroupingDataflowBlockOptions { BoundedCapacity = 2 });
        never.PostAll(1, 2);
        Assert.False(never.Post(3));
        await Eventually.Gives([1, 2], never.ReceiveAsync());
        Assert.Equal("dataflowBlockOptions", Assert.Throws<ArgumentNullException>(() => new BatchBlock<int>(2, soon, null!)).ParamName);
        Assert.Equal("flushAfter", Assert.Throws<ArgumentOutOfRangeException>(() => new BatchBlock<int>(2, TimeSpan.Zero)).ParamName);
        Assert.Equal("batchSize", Assert.Throws<ArgumentOutOfRangeException>(() => new BatchBlock<int>(0, soon)).ParamName);
    }

    [Fact]
    public void Flush_TimeOutOfRange_ThrowsAtTheCall()
    {
        TimeSpan longest = TimeSpan.FromMilliseconds(4294967294);
        _ = new BatchBlock<int>(2, longest, TimeProvider.System, new GroupingDataflowBlockOptions());
        foreach (TimeSpan wrong in (TimeSpan[])
        [
            TimeSpan.Zero, TimeSpan.FromTicks(-1), Timeout.InfiniteTimeSpan, longest + TimeSpan.FromMilliseconds(1), TimeSpan.MaxValue,
        ])
        {
            ArgumentOutOfRangeException e = Assert.Throws<ArgumentOutOfRangeException>(
                () => new BatchBlock<int>(2, wrong, TimeProvider.System, new GroupingDataflowBlockOptions()));
            Assert.Equal("flushAfter", e.ParamName);
        }
    }

    [Fact(Timeout = Limit)]
    public async Task Flush_BlockEnded_LeavesNoTimer()
    {
        var clock = new ManualTimeProvider();
        var block = new BatchBlock<int>(2, TimeSpan.FromSeconds(5), clock, new GroupingDataflowBlockOptions());
        block.Post(1);
        block.Complete();
        await Eventually.Gives([1], block.ReceiveAsync());
        await Eventually.Done(block.Completion);
        Eventually.Equal(0, () => clock.ArmedTimers);
        Eventually.Equal(0, () => clock.LiveTimers);
    }

    [Theory(Timeout = Limit)]
    [InlineData(true)]
    [InlineData(false)]
    public async Task ReliableBroadcast_LinkDisposed_EndsNothing(bool faults)
    {
        var block = new ReliableBroadcastBlock<int>(null);
        var gone = new ProbeTarget<int>();
        var twice = new ProbeTarget<int>();
        block.LinkTo(gone, propagateCompletion: true).Dispose();
        block.LinkTo(twice);
        IDisposable second = block.LinkTo(twice, propagateCompletion: true);
        var stays = new ProbeTarget<int>();
        block.LinkTo(stays, propagateCompletion: true);
        second.Dispose();
        second.Dispose();
        Assert.True(block.Post(1));
        Eventually.Equal(1, () => stays.Ids.Length);
        if (faults)
        {
            ((IDataflowBlock)block).Fault(new FormatException());
        }
        else
        {
            block.Complete();
        }

        await Eventually.Status(stays.Completion);
        Assert.Equal(faults, stays.Fault is not null);
        Assert.Equal([1], twice.Accepted);
        Assert.Empty(gone.Ids);
        Never.True(() => gone.Completion.IsCompleted || twice.Completion.IsCompleted);
        Assert.Throws<FormatException>(() => block.LinkTo(new ThrowingTarget<int>(), propagateCompletion: true));
        var late = new ProbeTarget<int>();
        block.LinkTo(late, propagateCompletion: true);
        Assert.Equal(faults, late.Fault is not null);
        Assert.Equal(faults ? 0 : 1, late.Completes);
    }

    [Fact(Timeout = Limit)]
    public async Task ReliableBroadcast_SlowTarget_HoldsTheOthersBackAndLosesNothing()
    {
        var block = new ReliableBroadcastBlock<int>(null);
        var narrow = new BufferBlock<int>(new DataflowBlockOptions { BoundedCapacity = 1 });
        var wide = new BufferBlock<int>();
        block.LinkTo(narrow, propagateCompletion: true);
        block.LinkTo(wide, propagateCompletion: true);
        block.PostAll(Enumerable.Range(0, 50));
        block.Complete();
        Never.True(() => wide.Count > 3);
        int[] slow = await Eventually.Result(narrow.ReceiveAllAsync().ToArrayAsync().AsTask());
        int[] fast = await Eventually.Result(wide.ReceiveAllAsync().ToArrayAsync().AsTask());
        Assert.Equal(Enumerable.Range(0, 50), slow);
        Assert.Equal(Enumerable.Range(0, 50), fast);
        await Eventually.Done(block.Completion);
    }
}
