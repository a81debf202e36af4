using Weir.Dataflow.Tests.Blocks;
using Weir.Dataflow.Tests.Probes;

namespace Weir.Dataflow.Tests.Contracts;

/// <summary>Who gets which message of a broadcast, and which copy of it?</summary>
public abstract class BroadcastContract<TBlocks> : Contract<TBlocks> where TBlocks : BlockFactory, new()
{
    [Fact(Timeout = Limit)]
    public async Task Post_SeveralTargets_EachGetsEveryMessageInOrder()
    {
        IPropagatorBlock<int, int> block = Blocks.Broadcast<int>(null);
        ProbeTarget<int>[] targets = [new(), new(), new()];
        Assert.All(targets, t => block.LinkTo(t, Propagate));
        block.PostAll(Enumerable.Range(1, 100));
        block.Complete();
        foreach (ProbeTarget<int> target in targets)
        {
            await Eventually.Done(target.Completion);
            Assert.Equal(Enumerable.Range(1, 100), target.Accepted);
            // The first number is Microsoft's own affair (it is 2); each message has the next.
            Assert.Equal(Enumerable.Range(0, 100).Select(i => target.Ids[0] + i), target.Ids);
        }
    }

    [Fact]
    public void LinkTo_Late_OffersTheLatestMessage()
    {
        IPropagatorBlock<int, int> block = Blocks.Broadcast<int>(null);
        block.PostAll(1, 2, 3);
        Eventually.Equal(3, () => block.Receivable().TryReceive(out int seen) ? seen : 0);
        var late = new ProbeTarget<int>();
        block.LinkTo(late);
        Eventually.Sequence([3], () => late.Offered);
        Assert.True(block.Post(4));
        Eventually.Sequence([3, 4], () => late.Offered);
    }

    [Fact(Timeout = Limit)]
    public async Task TryReceive_Repeatedly_GivesTheLatestAgain()
    {
        IReceivableSourceBlock<int> block = Blocks.Broadcast<int>(null).Receivable();
        Assert.False(block.TryReceive(out _));
        Assert.False(block.TryReceiveAll(out IList<int>? all));
        ((ITargetBlock<int>)block).PostAll(1, 2);
        Eventually.Equal(2, () => block.TryReceive(out int seen) ? seen : 0);
        Assert.True(block.TryReceive(out int again));
        Assert.Equal(2, again);
        Assert.False(block.TryReceive(static i => i == 1, out _));
        Assert.True(block.TryReceiveAll(out all));
        Assert.Equal([2], all!);
        Assert.Equal(2, await Eventually.Result(block.ReceiveAsync()));
    }

    [Fact(Timeout = Limit)]
    public async Task TryReceive_Completed_StillGivesTheLast()
    {
        IReceivableSourceBlock<int> block = Blocks.Broadcast<int>(null).Receivable();
        ((ITargetBlock<int>)block).PostAll(1, 2);
        block.Complete();
        await Eventually.Done(block.Completion);
        Assert.True(block.TryReceive(out int last));
        Assert.Equal(2, last);
        Assert.True(block.TryReceiveAll(out IList<int>? all));
        Assert.Equal([2], all);
        Assert.Equal(2, await Eventually.Result(block.ReceiveAsync()));
    }

    [Fact(Timeout = Limit)]
    public async Task LinkTo_Completed_OffersTheLastBeforeTheEnd()
    {
        IPropagatorBlock<int, int> block = Blocks.Broadcast<int>(null);
        block.PostAll(1, 2);
        block.Complete();
        await Eventually.Done(block.Completion);
        var late = new ProbeTarget<int>();
        block.LinkTo(late, Propagate);
        await Eventually.Done(late.Completion);
        Assert.Equal([2], late.Offered);
    }

    [Theory(Timeout = Limit)]
    [InlineData(EndingOf.Fault)]
    [InlineData(EndingOf.Cancel)]
    public async Task TryReceive_FaultedOrCancelled_StillGivesTheLast(EndingOf ending)
    {
        using var cancel = new CancellationTokenSource();
        IPropagatorBlock<int, int> block = Blocks.Broadcast<int>(null, new DataflowBlockOptions { CancellationToken = cancel.Token });
        Assert.True(block.Post(1));
        Eventually.True(() => block.Receivable().TryReceive(out _));
        block.End(ending, cancel);
        Assert.Equal(ending.Status(), await Eventually.Status(block.Completion));
        Assert.True(block.Receivable().TryReceive(out int last));
        Assert.Equal(1, last);
    }

    [Fact]
    public void Offer_WithCloning_AsksForConsumptionAndGivesEachItsOwnCopy()
    {
        int clones = 0;
        IPropagatorBlock<string, string> block = Blocks.Broadcast<string>(s => $"{s}{Interlocked.Increment(ref clones)}");
        var bodies = new ConcurrentQueue<string>();
        ProbeTarget<string>[] targets = [Consuming(bodies), Consuming(bodies)];
        Assert.All(targets, t => block.LinkTo(t));
        block.Post("a");
        Eventually.Sequence(["a1", "a2"], () => bodies);
        Assert.All(targets.SelectMany(static t => t.Offers), static o => Assert.True(o.ConsumeToAccept));
    }

    [Fact]
    public void Offer_WithoutCloning_DoesNotAskForConsumption()
    {
        IPropagatorBlock<string, string> block = Blocks.Broadcast<string>(null);
        var target = new ProbeTarget<string>();
        block.LinkTo(target);
        block.Post("a");
        Eventually.Sequence(["a"], () => target.Accepted);
        Assert.False(target.Last.ConsumeToAccept);
    }

    [Fact]
    public void TryReceive_WithCloning_GivesACopyEachTime()
    {
        int clones = 0;
        IPropagatorBlock<string, string> block = Blocks.Broadcast<string>(s => $"{s}{Interlocked.Increment(ref clones)}");
        block.Post("a");
        Eventually.True(() => block.Receivable().TryReceive(static s => s == "a", out _));
        Assert.True(block.Receivable().TryReceive(out string? second));
        Assert.Equal($"a{clones}", second);
        Assert.True(block.Receivable().TryReceive(out string? third));
        Assert.NotEqual(second, third);
    }

    [Theory(Timeout = Limit)]
    [InlineData(true)]
    [InlineData(false)]
    public async Task CloningFunction_Throws_FaultsTheBlockOrTheTarget(bool linked)
    {
        IPropagatorBlock<string, string> block = Blocks.Broadcast<string>(static _ => throw new FormatException("clone"));
        if (!linked)
        {
            block.Post("a");
            FormatException? seen = null;
            Eventually.True(() =>
            {
                seen ??= Record.Exception(() => block.Receivable().TryReceive(out _)) as FormatException;
                return seen is not null;
            });
            return;
        }

        block.LinkTo(new ProbeTarget<string>(ProbeTarget<string>.ConsumeInside));
        block.Post("a");
        Assert.Equal(TaskStatus.Faulted, await Eventually.Status(block.Completion));
        Assert.Equal("clone", block.Completion.Exception!.Flatten().InnerExceptions[0].Message);
    }

    [Fact]
    public void Offer_OneTargetPostpones_OthersAreNotHeldBack()
    {
        IPropagatorBlock<int, int> block = Blocks.Broadcast<int>(null);
        var slow = new ProbeTarget<int>(ProbeTarget<int>.Postpone);
        var fast = new ProbeTarget<int>();
        block.LinkTo(slow);
        block.LinkTo(fast);
        block.PostAll(1, 2, 3);
        Eventually.Sequence([1, 2, 3], () => fast.Accepted);
        Eventually.Sequence([1, 2, 3], () => slow.Offered);
        // What it postponed first is overwritten by now.
        Assert.False(slow.Consume(slow.Offers[0], out _));
        Assert.True(slow.Consume(slow.Offers[2], out int latest));
        Assert.Equal(3, latest);
    }

    [Fact]
    public void Reserve_CurrentMessage_HoldsBackTheNextOne()
    {
        (ProbeTarget<int> holder, ProbeTarget<int> other) = HoldingBackTheSecond();
        Never.True(() => other.Offered.Length > 1);
        Assert.True(holder.Consume(holder.Offers[0], out int kept));
        Assert.Equal(1, kept);
        Eventually.Sequence([1, 2], () => other.Offered);
    }

    [Fact]
    public void Release_TargetThrowsWhenAskedAgain_StillGoesOnWithTheNextOne()
    {
        (ProbeTarget<int> holder, ProbeTarget<int> other) = HoldingBackTheSecond();
        holder.Answer = (self, offer) => offer.Value == 1 ? throw new FormatException("target") : DataflowMessageStatus.Accepted;
        Assert.Throws<FormatException>(() => holder.Release(holder.Offers[0]));
        Eventually.Sequence([1, 2], () => other.Offered);
    }

    [Theory(Timeout = Limit)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Reservation_EndsAndTheSchedulerTakesNoTask_FaultsTheBlock(bool consumes)
    {
        var scheduler = new ManualScheduler();
        IPropagatorBlock<int, int> block = Blocks.Broadcast<int>(null, new DataflowBlockOptions { TaskScheduler = scheduler });
        var holder = new ProbeTarget<int>(ProbeTarget<int>.Postpone);
        block.LinkTo(holder);
        Assert.True(block.Post(1));
        Eventually.True(() => { scheduler.RunAll(); return holder.Offers.Length == 1; });
        Assert.True(holder.Reserve(holder.Last));
        Assert.True(block.Post(2));
        scheduler.RunAll();
        scheduler.Throws = true;
        if (consumes)
        {
            Assert.True(holder.Consume(holder.Last, out int kept));
            Assert.Equal(1, kept);
        }
        else
        {
            holder.Release(holder.Last);
        }

        Assert.Equal(TaskStatus.Faulted, await Eventually.Status(block.Completion));
        Assert.IsType<TaskSchedulerException>(block.Completion.Exception!.InnerExceptions[0]);
    }

    [Fact]
    public void LinkTo_CurrentMessageReserved_StillOffersItToTheNewcomer()
    {
        IPropagatorBlock<int, int> block = Blocks.Broadcast<int>(null);
        var holder = new ProbeTarget<int>(ProbeTarget<int>.Postpone);
        block.LinkTo(holder);
        Assert.True(block.Post(1));
        Eventually.Sequence([1], () => holder.Offered);
        Assert.True(holder.Reserve(holder.Last));
        var late = new ProbeTarget<int>();
        block.LinkTo(late);
        Eventually.Sequence([1], () => late.Accepted);
    }

    [Fact]
    public void LinkTo_MaxMessages_Counts()
    {
        IPropagatorBlock<int, int> block = Blocks.Broadcast<int>(null);
        (ProbeTarget<int> two, ProbeTarget<int> all) = (new(), new());
        block.LinkTo(two, new DataflowLinkOptions { MaxMessages = 2 });
        block.LinkTo(all);
        block.PostAll(1, 2, 3, 4, 5);
        Eventually.Sequence([1, 2, 3, 4, 5], () => all.Accepted);
        Assert.Equal([1, 2], two.Accepted);
    }

    [Fact(Timeout = Limit)]
    public async Task Post_FullTargetsBehind_DropsForThemAndKeepsTheLatest()
    {
        IPropagatorBlock<int, int> block = Blocks.Broadcast<int>(null);
        IPropagatorBlock<int, int> narrow = Blocks.Buffer<int>(new DataflowBlockOptions { BoundedCapacity = 1 });
        var all = new ProbeTarget<int>();
        block.LinkTo(narrow);
        block.LinkTo(all);
        block.PostAll(Enumerable.Range(1, 10));
        Eventually.True(() => all.Accepted.Length == 10);
        Assert.Equal(1, await Eventually.Result(narrow.ReceiveAsync()));
        Assert.Equal(10, await Eventually.Result(narrow.ReceiveAsync()));
        Assert.False(narrow.Receivable().TryReceive(out _));
    }

    /// <summary>A target that has reserved 1 and so holds 2 back, and another one, which has been offered 1.</summary>
    private (ProbeTarget<int> Holder, ProbeTarget<int> Other) HoldingBackTheSecond()
    {
        IPropagatorBlock<int, int> block = Blocks.Broadcast<int>(null);
        var holder = new ProbeTarget<int>(ProbeTarget<int>.Postpone);
        var other = new ProbeTarget<int>();
        block.LinkTo(holder);
        block.LinkTo(other);
        Assert.True(block.Post(1));
        Eventually.Sequence([1], () => other.Offered);
        Assert.True(holder.Reserve(holder.Last));
        Assert.True(block.Post(2));
        return (holder, other);
    }

    private static ProbeTarget<string> Consuming(ConcurrentQueue<string> into) => new((self, offer) =>
    {
        bool consumed = self.Consume(offer, out string? value);
        into.Enqueue(value!);
        return consumed ? DataflowMessageStatus.Accepted : DataflowMessageStatus.NotAvailable;
    });
}
