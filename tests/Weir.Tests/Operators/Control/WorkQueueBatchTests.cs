using Weir.Tests.Operators.Support;

namespace Weir.Tests.Operators.Control;

/// <summary>Batches of a queue that grows while it is worked on, given as a sequence.</summary>
public sealed class WorkQueueBatchTests
{
    private const int Nodes = 100;

    /// <summary>Longer than any test: what a batch waits for in vain would be seen.</summary>
    private static readonly TimeSpan BatchTimeout = TimeSpan.FromHours(1);

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Stream_OfAQueueAsASequence_WithABatchTimeout_EndsWhenAllAreDone(bool hasKeys)
    {
        WorkQueue<int> queue = WorkTree.Begun();
        IEnumerable<int> items = queue.AsEnumerable();
        IAsyncEnumerable<int[]> batches = (hasKeys ? items.PartitionBatchesBy(static batch => batch[0] % 3) : items)
            .BatchParallelStreamAsync(8, (batch, _) => Grow(queue, batch), batchTimeout: BatchTimeout);
        List<int> done = [];
        await foreach (int[] batch in batches)
        {
            done.AddRange(batch);
        }

        AssertAll(queue, done);
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task ForEach_OfAQueueAsASequence_WithABatchTimeout_EndsWhenAllAreDone()
    {
        WorkQueue<int> queue = WorkTree.Begun();
        System.Collections.Concurrent.ConcurrentQueue<int> done = [];
        await queue.AsEnumerable().ForEachBatchParallelAsync(
            8,
            async (batch, _) =>
            {
                foreach (int item in await Grow(queue, batch))
                {
                    done.Enqueue(item);
                }
            },
            batchTimeout: BatchTimeout).WithinAsync();
        AssertAll(queue, done);
    }

    private static async ValueTask<int[]> Grow(WorkQueue<int> queue, IReadOnlyList<int> batch)
    {
        await Task.Yield();
        foreach (int item in batch)
        {
            queue.AddChildren(item, Nodes);
        }

        return [.. batch];
    }

    private static void AssertAll(WorkQueue<int> queue, IEnumerable<int> done)
    {
        Assert.Equal(Enumerable.Range(0, Nodes), done.Order());
        queue.AssertEnded();
    }
}
