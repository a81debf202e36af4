using Weir.Tests.Operators.Support;

namespace Weir.Tests.Operators.Streams;

/// <summary>In which order do results come, and what holds them up?</summary>
public class OrderTests
{
    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Cases.AllStreams))]
    public async Task Results_SlowFirstItem_ComeInThePromisedOrder(OperatorFamily family, SourceKind kind)
    {
        using Gate gate = new();
        IAsyncEnumerator<int> stream = family.Open(
            TestSource.Of(kind, 4),
            async (item, _) =>
            {
                if (item == 0)
                {
                    await gate.WaitAsync();
                }

                return item;
            },
            new() { MaxDegreeOfParallelism = 2 }).GetAsyncEnumerator();
        List<int> results = [];
        Task<bool> step = stream.MoveNextAsync().AsTask();
        if (family.IsOrdered())
        {
            await Guard.SettleAsync();
            Assert.False(step.IsCompleted, "The first item is not there yet.");
            gate.Open();
        }

        while (await step.WithinAsync())
        {
            results.Add(stream.Current);
            if (results.Count == 3)
            {
                gate.Open();
            }

            step = stream.MoveNextAsync().AsTask();
        }

        Assert.Equal(family.IsOrdered() ? [0, 1, 2, 3] : [1, 2, 3, 0], results);
        await stream.DisposeAsync().WithinAsync();
    }

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Cases.UnboundedStreams))]
    public async Task Results_FailedItemsInAnEndlessSource_DoNotHoldUpWhatFollows(OperatorFamily family, SourceKind kind)
    {
        foreach (bool yields in new[] { false, true })
        {
            TestSource source = TestSource.Endless(kind);
            List<int> results = [];
            async Task TakeAsync()
            {
                await foreach (int item in family.Open(
                    source,
                    (item, _) => item % 7 is 0 or 1 or 5 ? yields ? Selectors.ThrowHereAfterYield(item) : Selectors.ThrowHere(item) : new(item),
                    new() { MaxDegreeOfParallelism = 3, ChannelCapacity = 2, ErrorMode = ErrorMode.BestEffort }))
                {
                    results.Add(item);
                    if (results.Count == 400)
                    {
                        return;
                    }
                }
            }

            await TakeAsync().WithinAsync("the results after failed items");
            if (family.IsOrdered())
            {
                Assert.Equal(Enumerable.Range(0, 700).Where(static i => i % 7 is not (0 or 1 or 5)), results);
            }

            source.AssertUsedWell();
        }
    }

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Cases.AllStreams))]
    public async Task Results_UnderCollectAndContinue_AllComeBeforeTheException(OperatorFamily family, SourceKind kind)
    {
        List<int> results = [];
        async Task TakeAsync()
        {
            await foreach (int item in family.Open(
                TestSource.Of(kind, 500),
                static (item, _) => item % 50 == 3 ? Selectors.ThrowHere(item) : new(item),
                new() { MaxDegreeOfParallelism = 3, ChannelCapacity = 4, ErrorMode = ErrorMode.CollectAndContinue }))
            {
                results.Add(item);
            }
        }

        ItemsFailedException e = await Assert.ThrowsAnyAsync<ItemsFailedException>(() => TakeAsync().WithinAsync());
        Assert.Equal(10, e.Failures.Count);
        Assert.Equal(Enumerable.Range(0, 500).Where(static i => i % 50 != 3), family.IsOrdered() ? results : results.Order());
    }

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Cases.AllStreams))]
    public async Task Enumeration_Twice_IsTwoRuns(OperatorFamily family, SourceKind kind)
    {
        if (kind == SourceKind.Channel)
        {
            // What was read from a channel is gone.
            return;
        }

        int calls = 0;
        IAsyncEnumerable<int> stream = family.Open(TestSource.Of(kind, 50), (item, _) => new(item + (0 * Interlocked.Increment(ref calls))));
        Task<List<int>> first = OperatorRunner.GatherAsync(stream);
        Task<List<int>> second = OperatorRunner.GatherAsync(stream);
        Assert.Equal(Enumerable.Range(0, 50), (await first.WithinAsync()).Order());
        Assert.Equal(Enumerable.Range(0, 50), (await second.WithinAsync()).Order());
        Assert.Equal(100, calls);
    }

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Cases.AllStreams))]
    public async Task Steps_AfterTheEnd_GiveTheEndAgain(OperatorFamily family, SourceKind kind)
    {
        IAsyncEnumerator<int> stream = family.Open(TestSource.Of(kind, 2), Selectors.Twice).GetAsyncEnumerator();
        Assert.True(await stream.MoveNextAsync().WithinAsync());
        Assert.True(await stream.MoveNextAsync().WithinAsync());
        Assert.False(await stream.MoveNextAsync().WithinAsync());
        Assert.False(await stream.MoveNextAsync().WithinAsync());
        await stream.DisposeAsync().WithinAsync();
        Assert.False(await stream.MoveNextAsync().WithinAsync());
    }
}
