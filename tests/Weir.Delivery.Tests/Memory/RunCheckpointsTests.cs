namespace Weir.Delivery.Tests.Memory;

/// <summary>Does a run go on from a checkpoint that a store has?</summary>
public class RunCheckpointsTests
{
    [Fact(Timeout = 60_000)]
    public async Task ARun_GoesOn_FromWhatAStoreHas()
    {
        MemoryCheckpointStore store = new();
        ParallelRunOptions options = new() { ErrorMode = ErrorMode.BestEffort, Resume = store.AsCheckpoint("import") };
        int[] items = [.. Enumerable.Range(0, 100)];
        await items.ForEachParallelAsync(static (i, _) => i % 7 == 5 ? throw new FormatException() : default(ValueTask), options);
        Assert.NotNull(await store.LoadAsync("import", TestContext.Current.CancellationToken));
        List<int> left = await items.SelectParallelAsync(static (i, _) => new ValueTask<int>(i), options);
        Assert.Equal(items.Where(static i => i % 7 == 5), left);
    }
}
