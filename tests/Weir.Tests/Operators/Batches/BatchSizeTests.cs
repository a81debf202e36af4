using Weir.Tests.Operators.Support;

namespace Weir.Tests.Operators.Batches;

/// <summary>Are batches exactly as large as asked for, in order, and the selector's own?</summary>
public class BatchSizeTests
{
    public static PairwiseTheoryData<SourceKind, int, int> Sizes() => new(Cases.Kinds, [0, 1, 9, 10, 11, 100], [1, 3, 10, int.MaxValue]);

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Sizes))]
    public async Task List_AnySize_CutsTheSourceExactly(SourceKind kind, int count, int size)
    {
        TestSource source = TestSource.Of(kind, count);
        List<int[]> batches = await source.BatchListAsync(size, Copy, new() { MaxDegreeOfParallelism = 3 }).WithinAsync();
        Assert.Equal(Enumerable.Range(0, count).Chunk(size), batches);
        source.AssertUsedWell();
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Sizes))]
    public async Task Stream_AnySize_CutsTheSourceExactly(SourceKind kind, int count, int size)
    {
        TestSource source = TestSource.Of(kind, count);
        List<int[]> batches = await OperatorRunner.GatherAsync(
            source.BatchStream(size, Copy, new() { MaxDegreeOfParallelism = 3, OrderedOutput = true, ChannelCapacity = 2 })).WithinAsync();
        Assert.Equal(Enumerable.Range(0, count).Chunk(size), batches);
        source.AssertUsedWell();
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Sizes))]
    public async Task Stream_WithATimeoutThatDoesNotPass_CutsTheSourceExactly(SourceKind kind, int count, int size)
    {
        ManualTimeProvider clock = new();
        TestSource source = TestSource.Of(kind, count);
        List<int[]> batches = await OperatorRunner.GatherAsync(source.BatchStream(
            size, Copy, new() { MaxDegreeOfParallelism = 3, OrderedOutput = true, TimeProvider = clock }, TimeSpan.FromSeconds(1))).WithinAsync();
        Assert.Equal(Enumerable.Range(0, count).Chunk(size), batches);
        Assert.Equal(0, clock.LiveTimers);
        source.AssertUsedWell();
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task List_SlowBatches_ExistOnlyInFlight()
    {
        using Gate gate = new();
        ConcurrencyProbe probe = new();
        TestSource source = TestSource.Of(SourceKind.Lazy, 1_000);
        Task<List<int>> running = source.BatchListAsync(
            10,
            async (batch, _) =>
            {
                using (probe.Enter())
                {
                    await gate.WaitAsync();
                    return batch.Count;
                }
            },
            new() { MaxDegreeOfParallelism = 3 });
        await probe.InsideAsync(3);
        await Guard.SettleAsync();
        Assert.InRange(source.Record.Reads, 30, 31);
        gate.Open();
        Assert.Equal(Enumerable.Repeat(10, 100), await running.WithinAsync());
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task List_ArraySource_IsNotSharedWithTheBatch()
    {
        int[] items = [1, 2, 3, 4];
        List<int> sums = await items.BatchParallelAsync(
            2,
            static (batch, _) =>
            {
                var own = (int[])batch;
                int sum = own.Sum();
                Array.Clear(own);
                return new ValueTask<int>(sum);
            }).WithinAsync();
        Assert.Equal([3, 7], sums);
        Assert.Equal([1, 2, 3, 4], items);
    }

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(SourceKind.Array)]
    [InlineData(SourceKind.Lazy)]
    [InlineData(SourceKind.AsyncSuspending)]
    [InlineData(SourceKind.Channel)]
    public async Task List_FailedBatch_IsCountedAsOneItem(SourceKind kind)
    {
        Task<List<int>> running = TestSource.Of(kind, 30).BatchListAsync(
            10,
            static (batch, _) => batch[0] == 10 ? Selectors.ThrowHere(10) : new(batch[0]),
            new() { ErrorMode = ErrorMode.CollectAndContinue });
        ItemsFailedException<int> e = await Assert.ThrowsAsync<ItemsFailedException<int>>(() => running.WithinAsync());
        Assert.Equal([1L], e.Failures.Select(static f => f.Index));
        Assert.Equal([0, 20], e.Results);
    }

    private static ValueTask<int[]> Copy(IReadOnlyList<int> batch, CancellationToken token) => new([.. batch]);
}
