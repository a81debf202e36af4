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
        _core.Complete(null, drop: false);
        await Eventually.Done(_source.Completion);
        _source.Enlist(waiter, CancellationToken.None);
        await Assert.ThrowsAsync<InvalidOperationException>(() => waiter.Task);
    }
}
