using Weir.Dataflow.Tests.Probes;

namespace Weir.Dataflow.Tests.Interleavings;

/// <summary>
/// MaxNumberOfGroups while a message is being consumed from its source: its place is claimed before, so that nothing that was accepted or consumed
/// is left over, and no group too many is made. The source's ConsumeMessage is where the test does what other threads would.
/// </summary>
public class LimitTests
{
    private const int Limit = Eventually.Limit;

    private static GroupingDataflowBlockOptions OneGroup => new() { MaxNumberOfGroups = 1 };

    [Fact(Timeout = Limit)]
    public async Task BatchedJoin_OtherTargetFilledMeanwhile_AcceptsNoMoreThanItHandsOut()
    {
        var block = new BatchedJoinBlock<int, int>(2, OneGroup);
        bool[] posted = [];
        var source = new ProbeSource<int> { OnConsume = () => posted = [block.Target2.Post(1), block.Target2.Post(2)] };
        Assert.Equal(DataflowMessageStatus.Accepted, source.OfferTo(block.Target1, 1, 7, consumeToAccept: true));
        Assert.Equal([true, false], posted);
        (IList<int> first, IList<int> second) = (await Eventually.Result(block.ReceiveAsync())).ToValueTuple();
        Assert.Equal([7], first);
        Assert.Equal([1], second);
        await Eventually.Done(block.Completion);
    }

    [Fact(Timeout = Limit)]
    public async Task BatchedJoin_ConsumptionFails_ItsPlaceGoesToAnother()
    {
        var block = new BatchedJoinBlock<int, int>(1, OneGroup);
        Task<bool> sent = Task.FromResult(false);
        var source = new ProbeSource<int> { GrantsConsumption = false, OnConsume = () => sent = block.Target2.SendAsync(1) };
        Assert.Equal(DataflowMessageStatus.NotAvailable, source.OfferTo(block.Target1, 1, 7, consumeToAccept: true));
        Assert.True(await Eventually.Result(sent));
        Assert.Equal([1], (await Eventually.Result(block.ReceiveAsync())).Item2);
        await Eventually.Done(block.Completion);
    }

    [Fact(Timeout = Limit)]
    public async Task Join_SecondOfferMeanwhile_IsNotTakenForATupleThatWillNotBe()
    {
        var block = new JoinBlock<int, int>(OneGroup);
        bool posted = true;
        var source = new ProbeSource<int> { OnConsume = () => posted = block.Target1.Post(8) };
        Assert.Equal(DataflowMessageStatus.Accepted, source.OfferTo(block.Target1, 1, 7, consumeToAccept: true));
        Assert.False(posted);
        Assert.True(block.Target2.Post(1));
        Assert.Equal((7, 1), (await Eventually.Result(block.ReceiveAsync())).ToValueTuple());
        await Eventually.Done(block.Completion);
    }

    [Theory(Timeout = Limit)]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Batch_LastGroupTriggeredMeanwhile_IsMadeOnce(bool granted)
    {
        var block = new BatchBlock<int>(3, OneGroup);
        block.Post(1);
        var source = new ProbeSource<int> { GrantsConsumption = granted, OnConsume = block.TriggerBatch };
        source.OfferTo(block, 1, 2, consumeToAccept: true);
        Assert.Equal(granted ? [1, 2] : [1], await Eventually.Result(block.ReceiveAsync()));
        await Eventually.Done(block.Completion);
        Assert.Equal(0, block.OutputCount);
    }
}
