using Weir.Dataflow.Tests.Probes;
using Weir.TestKit;

namespace Weir.Dataflow.Tests.Additions;

/// <summary>Do the ValueTask members answer as their Task twins do, without allocating?</summary>
public class ValueTaskTests
{
    private const int Limit = Eventually.Limit;

    [Fact(Timeout = Limit)]
    public async Task SendValueAsync_Full_WaitsForRoom()
    {
        var block = new BufferBlock<int>(new DataflowBlockOptions { BoundedCapacity = 1 });
        Assert.True(await block.SendValueAsync(1));
        ValueTask<bool> waiting = block.SendValueAsync(2);
        Assert.False(waiting.IsCompleted);
        Assert.Equal(1, await block.ReceiveValueAsync());
        Assert.True(await waiting);
        Assert.Equal(2, await block.ReceiveValueAsync());
    }

    [Fact(Timeout = Limit)]
    public async Task SendValueAsync_FullThenCompleted_IsFalse()
    {
        var block = new BufferBlock<int>(new DataflowBlockOptions { BoundedCapacity = 1 });
        block.Post(1);
        ValueTask<bool> waiting = block.SendValueAsync(2);
        block.Complete();
        Assert.False(await waiting);
        Assert.False(await block.SendValueAsync(3));
    }

    [Fact(Timeout = Limit)]
    public async Task SendValueAsync_Cancelled_ThrowsAndSendsNothing()
    {
        using var cancel = new CancellationTokenSource();
        var block = new BufferBlock<int>(new DataflowBlockOptions { BoundedCapacity = 1 });
        block.Post(1);
        ValueTask<bool> waiting = block.SendValueAsync(2, cancel.Token);
        await cancel.CancelAsync();
        var thrown = await Assert.ThrowsAnyAsync<OperationCanceledException>(async () => await waiting);
        Assert.Equal(cancel.Token, thrown.CancellationToken);
        Assert.Equal(1, block.Receive());
        Assert.False(block.TryReceive(out _));
    }

    [Fact(Timeout = Limit)]
    public async Task ReceiveValueAsync_BeforeTheMessage_GetsIt()
    {
        var block = new BufferBlock<int>();
        ValueTask<int> received = block.ReceiveValueAsync();
        Assert.False(received.IsCompleted);
        block.Post(1);
        Assert.Equal(1, await received);
    }

    [Fact(Timeout = Limit)]
    public async Task ReceiveValueAsync_Ended_Throws()
    {
        var block = new BufferBlock<int>();
        ValueTask<int> early = block.ReceiveValueAsync();
        block.Complete();
        await Assert.ThrowsAsync<InvalidOperationException>(async () => await early);
        await Assert.ThrowsAsync<InvalidOperationException>(async () => await block.ReceiveValueAsync());
    }

    [Fact(Timeout = Limit)]
    public async Task ReceiveValueAsync_Cancelled_TakesNothing()
    {
        using var cancel = new CancellationTokenSource();
        var block = new BufferBlock<int>();
        ValueTask<int> received = block.ReceiveValueAsync(cancel.Token);
        await cancel.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(async () => await received);
        block.Post(1);
        Assert.Equal(1, block.Receive());
    }

    [Fact(Timeout = Limit)]
    public async Task WaitToReceiveAsync_MessageThenEnd_IsTrueThenFalse()
    {
        var block = new BufferBlock<int>();
        ValueTask<bool> early = block.WaitToReceiveAsync();
        Assert.False(early.IsCompleted);
        block.Post(1);
        Assert.True(await early);
        Assert.True(await block.WaitToReceiveAsync());
        block.Complete();
        Assert.True(block.TryReceive(out _));
        Assert.False(await block.WaitToReceiveAsync());
    }

    [Fact(Timeout = Limit)]
    public async Task SendAndReceive_ProducerAndConsumer_KeepOrder()
    {
        var block = new BufferBlock<int>(new DataflowBlockOptions { BoundedCapacity = 1 });
        Task producer = Task.Run(async () =>
        {
            for (int i = 0; i < 5000; i++)
            {
                Assert.True(await block.SendValueAsync(i));
            }

            block.Complete();
        });
        for (int i = 0; i < 5000; i++)
        {
            Assert.Equal(i, await block.ReceiveValueAsync());
        }

        await Eventually.Done(producer);
        await Eventually.Done(block.Completion);
    }

    [Fact]
    public void ReceiveValueAsync_BeforePost_AllocatesNothing()
    {
        var block = new BufferBlock<int>(new DataflowBlockOptions { BoundedCapacity = 1 });
        for (int i = 0; i < 2000; i++)
        {
            Pair(block);
        }

        long least = Allocated.Least(() =>
        {
            for (int i = 0; i < 1000; i++)
            {
                Pair(block);
            }
        });
        Assert.Equal(0, least);
    }

    private static void Pair(BufferBlock<int> block)
    {
        ValueTask<int> received = block.ReceiveValueAsync();
        Assert.True(block.Post(1));
        // No closure here: it would be an allocation.
        var wait = new SpinWait();
        for (int turns = 0; !received.IsCompleted && turns < 100_000; turns++)
        {
            wait.SpinOnce();
        }

        _ = received.Result;
        ValueTask<bool> sent = block.SendValueAsync(2);
        _ = sent.Result;
        block.TryReceive(out _);
    }
}
