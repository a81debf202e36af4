using Weir.Dataflow.Cores;
using Weir.Dataflow.Tests.Probes;
using Weir.Dataflow.Waiters;

namespace Weir.Dataflow.Tests.Interleavings;

/// <summary>What comes between a receiver's look, which finds nothing, and its place among those who wait.</summary>
public class EnlistTests
{
    private readonly SourceCore<int> _source;
    private readonly BufferCore<int> _core;

    public EnlistTests()
    {
        _core = new BufferCore<int>(new Weir.Dataflow.BufferBlock<int>(), BlockOptions.Of(BlockOptions.None));
        _source = _core.Source;
    }

    public static TheoryData<bool, bool> Late { get; } = new() { { false, false }, { false, true }, { true, false }, { true, true } };

    [Fact(Timeout = Eventually.Limit)]
    public async Task Receive_MessageCameAfterTheLook_GetsIt()
    {
        MessageWaiter<int> waiter = new(_source);
        Assert.False(_source.TryReceive(out _));
        _core.Post(7);
        _source.Enlist(waiter, CancellationToken.None);
        Assert.True(waiter.Task.IsCompleted);
        Assert.Equal(7, await waiter.Task);
        Assert.Equal(0, _source.Count);
    }

    [Fact(Timeout = Eventually.Limit)]
    public async Task OutputAvailable_MessageCameAfterTheLook_IsTrue()
    {
        AvailableWaiter<int> waiter = new(_source);
        Assert.False(_source.IsReceivable());
        _core.Post(7);
        _source.Enlist(waiter, CancellationToken.None);
        Assert.True(waiter.Task.IsCompleted);
        Assert.True(await waiter.Task);
        Assert.Equal(1, _source.Count);
    }

    [Fact(Timeout = Eventually.Limit)]
    public async Task Receive_BlockEndedAfterTheLook_Fails()
    {
        MessageWaiter<int> waiter = new(_source);
        Assert.False(_source.TryReceive(out _));
        _core.Complete(null, discard: false);
        await Eventually.Done(_source.Completion);
        _source.Enlist(waiter, CancellationToken.None);
        await Assert.ThrowsAsync<InvalidOperationException>(() => waiter.Task);
    }

    [Theory(Timeout = Eventually.Limit)]
    [MemberData(nameof(Late))]
    public async Task Enlist_WhileANewLinkIsOfferedTheHeadThatAllOthersRefused_GetsIt(bool takes, bool throws)
    {
        using Gate gate = new();
        Assert.True(_core.Post(7));
        _source.LinkTo(new ProbeTarget<int>(ProbeTarget<int>.Decline), new DataflowLinkOptions());
        Task linking = Task.Run(() => _source.LinkTo(AtGate(gate, throws), new DataflowLinkOptions()));
        gate.AwaitArrivals();
        Task waiting = Enlist(takes);
        Assert.False(waiting.IsCompleted);
        gate.Open();
        Assert.Equal(throws ? TaskStatus.Faulted : TaskStatus.RanToCompletion, await Eventually.Status(linking));
        await Eventually.Done(waiting);
        Assert.Equal(takes ? 0 : 1, _source.Count);
    }

    [Fact(Timeout = Eventually.Limit)]
    public async Task Enlist_WhileTheOnlyLinkIsAskedAndThrows_GetsTheHead_AndTheLinkIsAskedForTheNext()
    {
        using Gate gate = new();
        Assert.All([7, 8], item => Assert.True(_core.Post(item)));
        ProbeTarget<int> target = AtGate(gate, throws: true);
        Task linking = Task.Run(() => _source.LinkTo(target, new DataflowLinkOptions()));
        gate.AwaitArrivals();
        MessageWaiter<int> receiver = new(_source);
        _source.Enlist(receiver, CancellationToken.None);
        gate.Open();
        Assert.Equal(7, await Eventually.Result(receiver.Task));
        await Eventually.Status(linking);
        Eventually.True(() => target.Offered.Contains(8));
    }

    [Theory(Timeout = Eventually.Limit)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Enlist_WhileALinkThatWasMadeWithinAnOfferIsAsked_GetsTheHead(bool takes)
    {
        using Gate gate = new();
        ProbeTarget<int> inner = AtGate(gate, throws: false);
        int links = 0;
        _source.LinkTo(
            new ProbeTarget<int>((_, _) =>
            {
                if (links++ == 0)
                {
                    _source.LinkTo(inner, new DataflowLinkOptions { Append = false });
                }

                return DataflowMessageStatus.Declined;
            }),
            new DataflowLinkOptions());
        Assert.True(_core.Post(7));
        gate.AwaitArrivals();
        Task waiting = Enlist(takes);
        Assert.False(waiting.IsCompleted);
        gate.Open();
        await Eventually.Done(waiting);
        Assert.Equal(takes ? 0 : 1, _source.Count);
    }

    private static ProbeTarget<int> AtGate(Gate gate, bool throws) => new((_, _) =>
    {
        gate.Pass();
        return throws ? throw new FormatException("target") : DataflowMessageStatus.Declined;
    });

    private Task Enlist(bool takes)
    {
        if (takes)
        {
            MessageWaiter<int> receiver = new(_source);
            _source.Enlist(receiver, CancellationToken.None);
            return receiver.Task;
        }

        AvailableWaiter<int> waiter = new(_source);
        _source.Enlist(waiter, CancellationToken.None);
        return waiter.Task;
    }
}
