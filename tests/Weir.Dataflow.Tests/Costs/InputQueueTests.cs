using Weir.Dataflow.Cores;
using Weir.Dataflow.Sync;
using Weir.TestKit;

namespace Weir.Dataflow.Tests.Costs;

/// <summary>What a block's queue holds on to. Not beside tests that are called at the steps of a Debug build, on this thread too, and allocate there.</summary>
[Collection(nameof(MemoryPoint))]
public class InputQueueTests
{
    private const int Many = 100_000;

    [Fact]
    public void Queue_MessagesOneAtATime_StaysSmall()
    {
        InputQueue<int> queue = new();
        Exchange(queue, waiting: 1);
        Assert.InRange(Allocated.Least(() => Exchange(queue, waiting: 1), 1000), 0, 1000);
    }

    [Theory]
    [InlineData(20)]
    [InlineData(200)]
    [InlineData(5000)]
    public void Queue_SomeWait_AllocatesNoMoreOnceItHasGrown(int waiting)
    {
        InputQueue<int> queue = new();
        Exchange(queue, waiting);
        Assert.InRange(Allocated.Least(() => Exchange(queue, waiting), 1000), 0, 1000);
    }

    // All come out in their order.
    private static void Exchange(InputQueue<int> queue, int waiting)
    {
        int next = 0;
        for (int i = 0; i < Many; i++)
        {
            Assert.True(queue.TryEnqueue(i));
            if (i >= waiting - 1)
            {
                Take(queue, next++);
            }
        }

        while (!queue.IsEmpty)
        {
            Take(queue, next++);
        }

        Assert.Equal(Many, next);
    }

    private static void Take(InputQueue<int> queue, int expected)
    {
        if (!queue.TryTake(out int item, out _) || item != expected)
        {
            Assert.Fail($"{item} came in place of {expected}.");
        }
    }
}
