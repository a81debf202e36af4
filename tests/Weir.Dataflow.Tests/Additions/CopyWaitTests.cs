using Weir.Dataflow.Tests.Probes;

namespace Weir.Dataflow.Tests.Additions;

/// <summary>Those who wait for the message of a BroadcastBlock or a WriteOnceBlock: each gets a copy.</summary>
public class CopyWaitTests
{
    private const int Limit = Eventually.Limit;

    public static TheoryData<bool> Kinds => [true, false];

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds))]
    public async Task ReceiveValueAsync_SeveralWaitBeforeTheMessage_EachGetsACopy(bool once)
    {
        int copies = 0;
        Block block = Make(once, i => { Interlocked.Increment(ref copies); return i + 100; });
        ValueTask<int>[] received = [block.ReceiveValue(default), block.ReceiveValue(default)];
        Task<int> task = block.Receive(Timeout.InfiniteTimeSpan, default);
        ValueTask<bool> available = block.WaitToReceive(default);
        Assert.All(received, static r => Assert.False(r.IsCompleted));
        Assert.False(available.IsCompleted);
        Assert.True(block.Target.Post(1));
        Assert.Equal(101, await received[0]);
        Assert.Equal(101, await received[1]);
        Assert.Equal(101, await Eventually.Result(task));
        Assert.True(await available);
        Assert.Equal(3, copies);
        Assert.Equal(101, await block.ReceiveValue(default));
        Assert.True(await block.WaitToReceive(default));
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds))]
    public async Task ReceiveValueAsync_EndsWithoutAMessage_Throws(bool once)
    {
        Block block = Make(once, null);
        ValueTask<int> received = block.ReceiveValue(default);
        ValueTask<bool> available = block.WaitToReceive(default);
        block.Target.Complete();
        await Assert.ThrowsAsync<InvalidOperationException>(async () => await received);
        Assert.False(await available);
        await Eventually.Done(block.Target.Completion);
        await Assert.ThrowsAsync<InvalidOperationException>(async () => await block.ReceiveValue(default));
        Assert.False(await block.WaitToReceive(default));
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds))]
    public async Task ReceiveValueAsync_CancelledOrLate_GivesUpAndLeavesNothing(bool once)
    {
        using var cancel = new CancellationTokenSource();
        Block block = Make(once, static i => throw new FormatException($"No copy is made of {i}."));
        ValueTask<int> received = block.ReceiveValue(cancel.Token);
        Task<int> late = block.Receive(TimeSpan.FromMilliseconds(1), default);
        await cancel.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(async () => await received);
        await Assert.ThrowsAsync<TimeoutException>(() => Eventually.Result(late));
        Assert.True(block.Target.Post(1));
        block.Target.Complete();
        Assert.Equal(TaskStatus.RanToCompletion, await Eventually.Status(block.Target.Completion));
    }

    [Fact(Timeout = Limit)]
    public async Task ReceiveValueAsync_CopyingThrows_FailsThatReceiveOnly()
    {
        var block = new BroadcastBlock<int>(static _ => throw new FormatException());
        ValueTask<int> received = block.ReceiveValueAsync();
        block.Post(1);
        await Assert.ThrowsAsync<FormatException>(async () => await received);
        await Assert.ThrowsAsync<FormatException>(async () => await block.ReceiveValueAsync());
        block.Complete();
        Assert.Equal(TaskStatus.RanToCompletion, await Eventually.Status(block.Completion));
    }

    private static Block Make(bool once, Func<int, int>? clone)
    {
        if (once)
        {
            var block = new WriteOnceBlock<int>(clone);
            return new Block(block, block.ReceiveValueAsync, block.WaitToReceiveAsync, block.ReceiveAsync);
        }

        var broadcast = new BroadcastBlock<int>(clone);
        return new Block(broadcast, broadcast.ReceiveValueAsync, broadcast.WaitToReceiveAsync, broadcast.ReceiveAsync);
    }

    private sealed record Block(
        ITargetBlock<int> Target,
        Func<CancellationToken, ValueTask<int>> ReceiveValue,
        Func<CancellationToken, ValueTask<bool>> WaitToReceive,
        Func<TimeSpan, CancellationToken, Task<int>> Receive);
}
