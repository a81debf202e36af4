namespace Weir.Gate;

/// <summary>The rows of <c>eng/gate</c>: a run for each kind of work that the engine has a way of its own for.</summary>
public static class EngineRows
{
    private static readonly int[] Few = [.. Enumerable.Range(0, 20)];
    private static readonly int[] Many = [.. Enumerable.Range(0, 1_000)];
    private static readonly ParallelRunOptions Narrow = new() { MaxDegreeOfParallelism = 8 };
    private static readonly ParallelRunOptions Wide = new() { MaxDegreeOfParallelism = 100 };
    private static readonly ParallelRunOptions Ordered = new() { MaxDegreeOfParallelism = 8, OrderedOutput = true };

    /// <summary>A list of items that are done at once.</summary>
    public static Task<List<int>> DoneAtOnce() => Many.SelectParallelAsync(static (item, _) => new ValueTask<int>(item + 1), Narrow);

    /// <summary>Items that suspend once each.</summary>
    public static Task<List<int>> Yields() => Many.SelectParallelAsync(YieldAsync, Narrow);

    /// <summary>A request that calls several services: few items, all in flight together.</summary>
    public static Task<List<int>> FanOut() => Few.SelectParallelAsync(YieldAsync, Wide);

    /// <summary>A stream, in the order of completion.</summary>
    public static Task<int> Stream() => SumAsync(Many.SelectParallelStreamAsync(YieldAsync, Narrow));

    /// <summary>A stream, in source order.</summary>
    public static Task<int> OrderedStream() => SumAsync(Many.SelectParallelStreamAsync(YieldAsync, Ordered));

    /// <summary>Items that wait for a timer, all in flight together.</summary>
    public static Task<List<int>> Waits() => Few.SelectParallelAsync(
        static async (item, token) =>
        {
            await Task.Delay(1, token);
            return item;
        },
        Wide);

    /// <summary>Items of which those with one key run one at a time and in order.</summary>
    public static Task<List<int>> KeyedLanes() => Many.PartitionBy(static item => item % 50).SelectParallelAsync(YieldAsync, Narrow);

    /// <summary>Batches of ten.</summary>
    public static Task<List<int>> Batches() => Many.BatchParallelAsync(
        10,
        static async (batch, _) =>
        {
            await Task.Yield();
            return batch.Count;
        },
        Narrow);

    private static async ValueTask<int> YieldAsync(int item, CancellationToken cancellationToken)
    {
        await Task.Yield();
        return item;
    }

    private static async Task<int> SumAsync(IAsyncEnumerable<int> results)
    {
        int sum = 0;
        await foreach (int result in results)
        {
            sum += result;
        }

        return sum;
    }
}
