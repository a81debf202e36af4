using static Weir.Tests.Resolution.Calls;

namespace Weir.Tests.Resolution;

/// <summary>
/// Does every operator take what one writes: calls that return a <see cref="Task"/> or a <see cref="ValueTask"/>, as lambdas and as method groups, over
/// sources that can be read in one way or in both? That this compiles is half of the test.
/// </summary>
public class BothWaysTests
{
    private static readonly int[] Items = [1, 2, 3];

    private static readonly int[] Twice = [2, 4, 6];

    private static readonly int[] Sums = [3, 3];

    private static Table<int> Both => new(1, 2, 3);

    [Fact(Timeout = 90_000)]
    public async Task SelectParallelAsync_OfASourceReadBothWays_ReadsItAsynchronously()
    {
        Assert.Equal(Twice, await Both.SelectParallelAsync(static (x, token) => ValueTwice(x, token)));
        Assert.Equal(Twice, await Both.SelectParallelAsync(static async (x, token) => await TaskTwice(x, token)));
        Assert.Equal(Twice, await Both.SelectParallelAsync(static (x, token) => TaskTwice(x, token)));
        Assert.Equal(Twice, await Both.SelectParallelAsync(ValueTwice));
        Assert.Equal(Twice, await Both.SelectParallelAsync(TaskTwice));
    }

    [Fact(Timeout = 90_000)]
    public async Task SelectParallelStreamAsync_OfASourceReadBothWays_ReadsItAsynchronously()
    {
        Assert.Equal(Twice, await Both.SelectParallelStreamAsync(static (x, token) => ValueTwice(x, token)).ToListAsync(sorted: true));
        Assert.Equal(Twice, await Both.SelectParallelStreamAsync(static async (x, token) => await TaskTwice(x, token)).ToListAsync(sorted: true));
        Assert.Equal(Twice, await Both.SelectParallelStreamAsync(static (x, token) => TaskTwice(x, token)).ToListAsync(sorted: true));
        Assert.Equal(Twice, await Both.SelectParallelStreamAsync(ValueTwice).ToListAsync(sorted: true));
        Assert.Equal(Twice, await Both.SelectParallelStreamAsync(TaskTwice).ToListAsync(sorted: true));
    }

    [Fact(Timeout = 90_000)]
    public async Task SelectParallelOutcomesAsync_OfASourceReadBothWays_ReadsItAsynchronously()
    {
        Assert.Equal(Twice, (await Both.SelectParallelOutcomesAsync(static (x, token) => ValueTwice(x, token))).Select(static o => o.Value));
        Assert.Equal(Twice, (await Both.SelectParallelOutcomesAsync(static async (x, token) => await TaskTwice(x, token))).Select(static o => o.Value));
        Assert.Equal(Twice, (await Both.SelectParallelOutcomesAsync(static (x, token) => TaskTwice(x, token))).Select(static o => o.Value));
        Assert.Equal(Twice, (await Both.SelectParallelOutcomesAsync(ValueTwice)).Select(static o => o.Value));
        Assert.Equal(Twice, (await Both.SelectParallelOutcomesAsync(TaskTwice)).Select(static o => o.Value));
    }

    [Fact(Timeout = 90_000)]
    public async Task ForEachParallelAsync_OfASourceReadBothWays_ReadsItAsynchronously()
    {
        Seen seen = new();
        Assert.Equal(Items, await seen.AfterAsync(Both.ForEachParallelAsync((x, token) => seen.ValueNote(x, token))));
        Assert.Equal(Items, await seen.AfterAsync(Both.ForEachParallelAsync(async (x, token) => await seen.TaskNote(x, token))));
        Assert.Equal(Items, await seen.AfterAsync(Both.ForEachParallelAsync((x, token) => seen.TaskNote(x, token))));
        Assert.Equal(Items, await seen.AfterAsync(Both.ForEachParallelAsync(seen.ValueNote)));
        Assert.Equal(Items, await seen.AfterAsync(Both.ForEachParallelAsync(seen.TaskNote)));
        Assert.Equal(Items, await seen.AfterAsync(Both.ForEachParallelAsync(seen.TaskAnswer)));
    }

    [Fact(Timeout = 90_000)]
    public async Task BatchParallelAsync_OfASourceReadBothWays_ReadsItAsynchronously()
    {
        Assert.Equal(Sums, await Both.BatchParallelAsync(2, static (batch, token) => ValueSum(batch, token)));
        Assert.Equal(Sums, await Both.BatchParallelAsync(2, static async (batch, token) => await TaskSum(batch, token)));
        Assert.Equal(Sums, await Both.BatchParallelAsync(2, static (batch, token) => TaskSum(batch, token)));
        Assert.Equal(Sums, await Both.BatchParallelAsync(2, ValueSum));
        Assert.Equal(Sums, await Both.BatchParallelAsync(2, TaskSum));
    }

    [Fact(Timeout = 90_000)]
    public async Task BatchParallelStreamAsync_OfASourceReadBothWays_ReadsItAsynchronously()
    {
        Assert.Equal(Sums, await Both.BatchParallelStreamAsync(2, static (batch, token) => ValueSum(batch, token)).ToListAsync(sorted: true));
        Assert.Equal(Sums, await Both.BatchParallelStreamAsync(2, static async (batch, token) => await TaskSum(batch, token)).ToListAsync(sorted: true));
        Assert.Equal(Sums, await Both.BatchParallelStreamAsync(2, static (batch, token) => TaskSum(batch, token)).ToListAsync(sorted: true));
        Assert.Equal(Sums, await Both.BatchParallelStreamAsync(2, ValueSum).ToListAsync(sorted: true));
        Assert.Equal(Sums, await Both.BatchParallelStreamAsync(2, TaskSum).ToListAsync(sorted: true));
    }

    [Fact(Timeout = 90_000)]
    public async Task PartitionBy_OfASourceReadBothWays_ReadsItAsynchronously()
    {
        // Its synchronous enumerator throws.
        PartitionedAsyncItems<int> keyed = Both.PartitionBy(static x => x % 2);
        PartitionedAsyncItems<int> batches = Both.PartitionBatchesBy(static batch => batch.Count);
        Assert.Equal(Twice, await keyed.SelectParallelAsync(ValueTwice));
        Assert.Equal(Twice, await keyed.SelectParallelAsync(TaskTwice));
        Assert.Equal(Sums, await batches.BatchParallelAsync(2, ValueSum));
        Assert.Equal(Sums, await batches.BatchParallelStreamAsync(2, TaskSum).ToListAsync(sorted: true));
    }
}
