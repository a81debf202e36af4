using Weir.Dataflow.Tests.Blocks;
using Weir.Dataflow.Tests.Probes;

namespace Weir.Dataflow.Tests.Contracts;

/// <summary>What does a block answer that takes one message only?</summary>
public abstract class WriteOnceContract<TBlocks> : Contract<TBlocks> where TBlocks : BlockFactory, new()
{
    [Fact(Timeout = Limit)]
    public async Task Post_First_CompletesTheBlockAndKeepsTheMessage()
    {
        IPropagatorBlock<int, int> block = Blocks.WriteOnce<int>(null);
        Assert.False(block.Receivable().TryReceive(out _));
        Assert.True(block.Post(1));
        Assert.False(block.Post(2));
        Assert.False(await block.SendAsync(2));
        await Eventually.Done(block.Completion);
        Assert.True(block.Receivable().TryReceive(out int item));
        Assert.Equal(1, item);
        Assert.True(block.Receivable().TryReceive(out item));
        Assert.Equal(1, item);
        Assert.True(block.Receivable().TryReceiveAll(out IList<int>? all));
        Assert.Equal([1], all!);
        Assert.False(block.Receivable().TryReceive(static i => i == 2, out _));
        Assert.Equal(1, block.Receive());
        Assert.Equal(1, await Eventually.Result(block.ReceiveAsync()));
        Assert.True(await Eventually.Result(block.OutputAvailableAsync()));
    }

    [Fact]
    public void Post_LinkedTargets_AllGetIt()
    {
        IPropagatorBlock<int, int> block = Blocks.WriteOnce<int>(null);
        ProbeTarget<int>[] targets = [new(), new()];
        Assert.All(targets, t => block.LinkTo(t, Propagate));
        block.Post(5);
        foreach (ProbeTarget<int> target in targets)
        {
            Eventually.True(() => target.Completes == 1);
            Assert.Equal([5], target.Accepted);
            Assert.Equal([1L], target.Ids);
        }
    }

    [Fact]
    public void LinkTo_Late_OffersItThenCompletes()
    {
        IPropagatorBlock<int, int> block = Blocks.WriteOnce<int>(null);
        block.Post(5);
        Eventually.True(() => block.Completion.IsCompleted);
        var late = new ProbeTarget<int>();
        block.LinkTo(late, Propagate);
        Eventually.True(() => late.Completes == 1);
        Assert.Equal([5], late.Accepted);
    }

    [Fact(Timeout = Limit)]
    public async Task Complete_NothingWritten_EndsEmpty()
    {
        IPropagatorBlock<int, int> block = Blocks.WriteOnce<int>(null);
        block.Complete();
        await Eventually.Done(block.Completion);
        Assert.False(block.Receivable().TryReceive(out _));
        Assert.False(block.Receivable().TryReceiveAll(out _));
        Assert.False(await Eventually.Result(block.OutputAvailableAsync()));
    }

    [Fact]
    public void Offer_WithCloning_GivesEachItsOwnCopy()
    {
        int clones = 0;
        IPropagatorBlock<string, string> block = Blocks.WriteOnce<string>(s => $"{s}{Interlocked.Increment(ref clones)}");
        var bodies = new ConcurrentQueue<string>();
        for (int i = 0; i < 2; i++)
        {
            block.LinkTo(new ProbeTarget<string>((self, offer) =>
            {
                Assert.True(offer.ConsumeToAccept);
                Assert.True(self.Consume(offer, out string? value));
                bodies.Enqueue(value!);
                return DataflowMessageStatus.Accepted;
            }));
        }

        block.Post("a");
        Eventually.Sequence(["a1", "a2"], () => bodies.Order());
        Assert.True(block.Receivable().TryReceive(out string? copy));
        Assert.Equal("a3", copy);
    }

    [Fact]
    public void Consume_Postponed_MayHappenAnyNumberOfTimes()
    {
        IPropagatorBlock<int, int> block = Blocks.WriteOnce<int>(null);
        var target = new ProbeTarget<int>(ProbeTarget<int>.Postpone);
        block.LinkTo(target);
        block.Post(5);
        Eventually.Sequence([1L], () => target.Ids);
        Assert.True(target.Reserve(target.Last));
        Assert.True(target.Consume(target.Last, out int value));
        Assert.Equal(5, value);
        Assert.True(target.Consume(target.Last, out value));
        Assert.False(block.ReserveMessage(new(2), target));
        block.ConsumeMessage(new(2), target, out bool consumed);
        Assert.False(consumed);
        target.Release(target.Last);
        Assert.Throws<InvalidOperationException>(() => block.ReleaseReservation(new(2), target));
    }

    [Fact(Timeout = Limit)]
    public async Task Fault_AfterTheMessage_IsTooLate()
    {
        IPropagatorBlock<int, int> block = Blocks.WriteOnce<int>(null);
        block.Post(5);
        block.Fault(new FormatException());
        await Eventually.Done(block.Completion);
        Assert.True(block.Receivable().TryReceive(out int item));
        Assert.Equal(5, item);
    }
}
