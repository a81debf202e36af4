using Weir.Tests.Operators.Support;

namespace Weir.Tests.Operators.Contracts;

/// <summary>Are there ever more items in flight than the limit, and are there as many where it helps?</summary>
public class LimitTests
{
    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Cases.All))]
    public async Task Run_WaitingItems_AreAsManyAsTheLimitAndNoMore(OperatorFamily family, SourceKind kind)
    {
        ConcurrencyProbe probe = new();
        using Gate gate = new();
        Task<List<int>> running = family.RunAsync(
            TestSource.Of(kind, 40),
            (item, _) => probe.StayAsync(item, gate),
            new() { MaxDegreeOfParallelism = 7 });
        await probe.InsideAsync(7);
        await Guard.SettleAsync();
        Assert.Equal(7, probe.Entered);
        gate.Open();
        Assert.Equal(40, (await running.WithinAsync()).Count);
        Assert.Equal(7, probe.Most);
        Assert.Equal(0, probe.Inside);
    }

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Cases.AllFew))]
    public async Task Run_BlockingItems_AreAsManyAsTheLimitAndNoMore(OperatorFamily family, SourceKind kind)
    {
        ConcurrencyProbe probe = new();
        using Gate gate = new();
        Task<List<int>> running = family.RunAsync(
            TestSource.Of(kind, 12),
            (item, _) => probe.Block(item, gate),
            new() { MaxDegreeOfParallelism = 4 });
        await probe.InsideAsync(4);

        // The watch adds workers while all are stuck.
        await Guard.PauseAsync();
        Assert.Equal(4, probe.Entered);
        gate.Open();
        Assert.Equal(12, (await running.WithinAsync()).Count);
        Assert.Equal(4, probe.Most);
    }

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Cases.All))]
    public async Task Run_LimitOfOne_RunsOneItemAfterTheOther(OperatorFamily family, SourceKind kind)
    {
        ConcurrencyProbe probe = new();
        List<int> order = [];
        List<int> results = await family.RunAsync(
            TestSource.Of(kind, 200),
            async (item, _) =>
            {
                using (probe.Enter())
                {
                    order.Add(item);
                    await Task.Yield();
                    return item;
                }
            },
            new() { MaxDegreeOfParallelism = 1 }).WithinAsync();
        Assert.Equal(1, probe.Most);
        Assert.Equal(Enumerable.Range(0, 200), order);
        Assert.Equal(order, results);
    }

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Cases.All))]
    public async Task Run_ThreeItemsAndALimitOfAThousand_StartsThreeCalls(OperatorFamily family, SourceKind kind)
    {
        ConcurrencyProbe probe = new();
        using Gate gate = new();
        TestSource source = TestSource.Of(kind, 3);
        Task<List<int>> running = family.RunAsync(
            source,
            (item, _) => probe.StayAsync(item, gate),
            new() { MaxDegreeOfParallelism = 1_000 });
        await probe.InsideAsync(3);
        gate.Open();
        Assert.Equal(3, (await running.WithinAsync()).Count);
        Assert.Equal(3, probe.Entered);
        source.AssertUsedWell();
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Cases.AnyFamily), MemberType = typeof(Cases))]
    public async Task Run_SuspendedItem_HoldsUpNoNeighbour(OperatorFamily family)
    {
        using Gate gate = new();
        int done = 0;
        Task<List<int>> running = family.RunAsync(
            TestSource.Of(SourceKind.Array, 5_000),
            async (item, _) =>
            {
                if (item == 2_500)
                {
                    await gate.WaitAsync();
                }

                Interlocked.Increment(ref done);
                return item;
            },
            new() { MaxDegreeOfParallelism = 2, ChannelCapacity = 10_000 });
        await Guard.UntilAsync(() => Volatile.Read(ref done) == 4_999, "the end of all other items");
        gate.Open();
        Assert.Equal(5_000, (await running.WithinAsync()).Count);
    }
}
