using Weir.Tests.Operators.Support;

namespace Weir.Tests.Operators.Outcomes;

/// <summary>Does each item's outcome come exactly once, as a stream?</summary>
public class OutcomeStreamTests
{
    public static MatrixTheoryData<SourceKind, bool> AnyKindAndOrder() => new(Cases.Kinds, [false, true]);

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(AnyKindAndOrder))]
    public async Task Stream_OfMixedItems_SaysHowEachEnded(SourceKind kind, bool ordered)
    {
        foreach (int limit in new[] { 1, 3, 200 })
        {
            TestSource source = TestSource.Of(kind, 100);
            List<(int Index, ItemOutcome<int, int> Outcome)> all = await OperatorRunner.GatherAsync(source.OutcomesStream(
                static (item, _) => (item % 4) switch
                {
                    0 => Selectors.ThrowHere(item),
                    1 => Selectors.ThrowHereAfterYield(item),
                    2 => Selectors.TwiceAfterYield(item, default),
                    _ => new(item * 2),
                },
                new() { MaxDegreeOfParallelism = limit, OrderedOutput = ordered, ErrorMode = ErrorMode.FailFast })).WithinAsync();

            Assert.Equal(Enumerable.Range(0, 100), ordered ? all.Select(static x => x.Index) : all.Select(static x => x.Index).Order());
            Assert.All(all, static x => Assert.Equal(
                x.Index % 4 > 1 ? (ItemStatus.Succeeded, x.Index * 2, null) : (ItemStatus.Failed, 0, $"item {x.Index}"),
                (x.Outcome.Status, x.Outcome.ValueOrDefault, x.Outcome.Error?.Message)));
            source.AssertUsedWell();
        }
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(AnyKindAndOrder))]
    public async Task Stream_OfAStoppedRun_HasEachItemThatWasReadOnce(SourceKind kind, bool ordered)
    {
        using StoppedRun run = new();
        ItemOutcome<int, int>[] outcomes = await run.EndAsync(OperatorRunner.GatherOutcomesAsync(
            TestSource.Of(kind, 50).OutcomesStream(run.CallAsync, StoppedRun.Options with { OrderedOutput = ordered })));
        if (kind.KnowsCount())
        {
            Assert.Equal(50, outcomes.Length);
        }
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(AnyKindAndOrder))]
    public async Task Stream_ThatIsLeft_StopsTheRun(SourceKind kind, bool ordered)
    {
        bool hasEnd = kind.KnowsCount();
        TestSource source = hasEnd ? TestSource.Of(kind, 10_000) : TestSource.Endless(kind);
        int seen = 0;
        await foreach ((int _, ItemOutcome<int, int> outcome) in source.OutcomesStream(
            static (item, _) => item % 2 == 0 ? new(item) : Selectors.ThrowHere(item), new() { MaxDegreeOfParallelism = 2, OrderedOutput = ordered }))
        {
            Assert.True(outcome.Status is ItemStatus.Succeeded or ItemStatus.Failed);
            if (++seen == 100)
            {
                break;
            }
        }

        source.AssertUsedWell();
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(AnyKindAndOrder))]
    public async Task Stream_CancelledByItsCaller_ThrowsAtTheNextStep(SourceKind kind, bool ordered)
    {
        using CancellationTokenSource caller = new();
        IAsyncEnumerator<(int, ItemOutcome<int, int>)> stream = TestSource.Of(kind, 100)
            .OutcomesStream(static (item, _) => new(item), new() { MaxDegreeOfParallelism = 2, OrderedOutput = ordered }, caller.Token).GetAsyncEnumerator();
        await using (stream)
        {
            Assert.True(await stream.MoveNextAsync());
            await caller.CancelAsync();
            OperationCanceledException e = await Assert.ThrowsAnyAsync<OperationCanceledException>(() => stream.MoveNextAsync().AsTask().WithinAsync());
            Assert.Equal(caller.Token, e.CancellationToken);
        }
    }

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(SourceKind.Lazy)]
    [InlineData(SourceKind.AsyncSuspending)]
    [InlineData(SourceKind.Channel)]
    public async Task Stream_WhoseSourceThrows_Throws(SourceKind kind)
    {
        TestSource source = TestSource.Of(kind, new SourcePlan { Count = 10, ThrowsAt = 5 });
        await Assert.ThrowsAsync<TestException>(
            () => OperatorRunner.GatherAsync(source.OutcomesStream(static (item, _) => new(item), new() { MaxDegreeOfParallelism = 2 })).WithinAsync());
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Stream_WithKeys_KeepsTheOrderOfEachKey()
    {
        List<int>[] perKey = [[], [], []];
        await foreach ((int index, ItemOutcome<int, int> outcome) in Enumerable.Range(0, 300).PartitionBy(static x => x % 3).SelectParallelOutcomesStreamAsync(
            async (x, _) =>
            {
                await Task.Yield();
                return x % 7 == 0 ? throw new TestException("seven") : x;
            },
            new ParallelRunOptions { MaxDegreeOfParallelism = 4 }))
        {
            Assert.Equal(index % 7 == 0 ? ItemStatus.Failed : ItemStatus.Succeeded, outcome.Status);
            perKey[index % 3].Add(index);
        }

        Assert.All(perKey, static keys => Assert.Equal(100, keys.Count));
        Assert.All(perKey, static keys => Assert.Equal(keys.Order(), keys));
    }

    [Fact]
    public void Stream_BadArguments_ThrowAtTheCall()
    {
        Assert.Throws<ArgumentNullException>(
            "source", () => ((IEnumerable<int>)null!).SelectParallelOutcomesStreamAsync(static (x, _) => new ValueTask<int>(x)));
        Assert.Throws<ArgumentNullException>(
            "selector", () => new[] { 1 }.SelectParallelOutcomesStreamAsync((Func<int, CancellationToken, ValueTask<int>>)null!));
        Assert.Throws<ArgumentOutOfRangeException>(
            () => new[] { 1 }.SelectParallelOutcomesStreamAsync(static (x, _) => new ValueTask<int>(x), new() { MaxDegreeOfParallelism = 0 }));
    }
}
