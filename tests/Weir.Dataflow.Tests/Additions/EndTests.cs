using Weir.Dataflow.Tests.Probes;

namespace Weir.Dataflow.Tests.Additions;

/// <summary>What a block has done when it ends: the end comes without waiting for anything else, so a fault shows at once.</summary>
public class EndTests
{
    private const int Limit = Eventually.Limit;

    [Fact(Timeout = Limit)]
    public async Task Batch_CompletedAfterOneMoreThanItsSize_GivesAFullBatchAndTheRest()
    {
        var block = new BatchBlock<int>(2);
        block.PostAll(1, 2, 3);
        block.Complete();
        await Eventually.Gives([1, 2], block.ReceiveAsync());
        await Eventually.Gives([3], block.ReceiveAsync());
        await Eventually.Done(block.Completion);
    }

    [Theory(Timeout = Limit)]
    [InlineData(1)]
    [InlineData(4)]
    public async Task Action_CompletedAndItsTaskFails_Fails(int parallelism)
    {
        var block = new ActionBlock<int>(
            static async _ =>
            {
                await Task.Yield();
                throw new InvalidOperationException("boom");
            },
            new ExecutionDataflowBlockOptions { MaxDegreeOfParallelism = parallelism });
        Assert.True(block.Post(1));
        block.Complete();

        await Eventually.Done(block.Completion.ContinueWith(static _ => { }, TaskScheduler.Default));
        Assert.Equal("boom", Assert.IsType<InvalidOperationException>(block.Completion.Exception?.InnerException).Message);
    }

    [Fact(Timeout = Limit)]
    public async Task Action_CompletedWhileItConsumesAnOffer_ProcessesTheMessage()
    {
        List<int> done = [];
        var block = new ActionBlock<int>(done.Add);
        bool endedEarly = false;
        var source = new ProbeSource<int> { OnConsume = () => endedEarly = EndsAtOnce(block) };

        Assert.Equal(DataflowMessageStatus.Accepted, source.OfferTo(block, 1, 7, consumeToAccept: true));
        await Eventually.Done(block.Completion);

        Assert.False(endedEarly);
        Assert.Equal([7], done);
    }

    [Fact(Timeout = Limit)]
    public async Task Action_CompletedWhileItConsumesAPostponedMessage_ProcessesTheMessage()
    {
        List<int> done = [];
        using var gate = new ManualResetEventSlim();
        var block = new ActionBlock<int>(
            i =>
            {
                gate.Wait(Eventually.Patience);
                done.Add(i);
            },
            new ExecutionDataflowBlockOptions { BoundedCapacity = 1 });
        bool endedEarly = false;
        var source = new ProbeSource<int> { OnConsume = () => endedEarly = EndsAtOnce(block) };
        Assert.True(block.Post(1));
        Assert.Equal(DataflowMessageStatus.Postponed, source.OfferTo(block, 1, 7));
        gate.Set();
        await Eventually.Done(block.Completion);

        Assert.False(endedEarly);
        Assert.Equal([1, 7], done);
    }

    private static bool EndsAtOnce(IDataflowBlock block)
    {
        block.Complete();
        try
        {
            Never.True(() => block.Completion.IsCompleted);
            return false;
        }
        catch (Xunit.Sdk.XunitException)
        {
            return true;
        }
    }
}
