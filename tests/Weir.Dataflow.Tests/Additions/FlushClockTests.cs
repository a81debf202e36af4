using Weir.Dataflow.Tests.Probes;
using Weir.TestKit;

namespace Weir.Dataflow.Tests.Additions;

/// <summary>Does a batch block whose clock fails leave anybody waiting?</summary>
public class FlushClockTests
{
    private const int Limit = Eventually.Limit;
    private static readonly TimeSpan Time = TimeSpan.FromSeconds(5);

    private readonly ManualTimeProvider _manual = new();

    [Fact(Timeout = Limit)]
    public async Task Flush_ClockFailsAsAPendingSendBeginsABatch_FailsTheBlockAndLeavesNobodyWaiting()
    {
        FaultyTimeProvider clock = new(_manual);
        var block = new BatchBlock<int>(2, Time, clock, new GroupingDataflowBlockOptions { BoundedCapacity = 2 });
        Assert.True(block.Post(1));
        Assert.True(block.Post(2));
        Task<bool>[] sends = [block.SendAsync(3), block.SendAsync(4), block.SendAsync(5)];
        clock.FailAfter(0);

        // The batch is the receiver's, whatever becomes of the next one.
        Assert.True(block.TryReceive(out int[]? batch));
        Assert.Equal([1, 2], batch);
        await Eventually.Gives([true, false, false], Task.WhenAll(sends));
        Assert.Equal(TaskStatus.Faulted, await Eventually.Status(block.Completion));
        Assert.IsType<IOException>(block.Completion.Exception!.InnerException);
        Eventually.Equal(0, () => _manual.LiveTimers);
    }

    [Theory(Timeout = Limit)]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Flush_ClockFailsAsAMessageBeginsABatch_FailsTheBlock(bool greedy)
    {
        FaultyTimeProvider clock = new(_manual);
        var block = new BatchBlock<int>(2, Time, clock, new GroupingDataflowBlockOptions { Greedy = greedy });
        clock.FailAfter(0);
        Task<bool> sent = block.SendAsync(1);
        Assert.Equal(greedy, await Eventually.Result(sent));
        Assert.Equal(TaskStatus.Faulted, await Eventually.Status(block.Completion));
        Assert.IsType<IOException>(block.Completion.Exception!.InnerException);
        Assert.False(block.Post(2));
    }

    [Theory(Timeout = Limit)]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Flush_TimerCannotBeDisposedOf_EndsTheBlockAndTellsItsTarget(bool hasOutput)
    {
        FaultyTimeProvider clock = new(_manual);
        var block = new BatchBlock<int>(2, Time, clock, new GroupingDataflowBlockOptions());
        var target = new ProbeTarget<int[]>();
        clock.FailToDispose();
        if (hasOutput)
        {
            Assert.True(block.Post(1));
        }

        block.LinkTo(target, new DataflowLinkOptions { PropagateCompletion = true });
        block.Complete();
        await Eventually.Done(block.Completion);
        await Eventually.Done(target.Completion);
        Assert.Equal((1, hasOutput ? 1 : 0), (target.Completes, target.Accepted.Length));
    }
}
