using Weir.Tests.Operators.Support;

namespace Weir.Tests.Operators.Contracts;

/// <summary>Does CollectAndContinue run everything, and does its exception hold every failure and every result?</summary>
public class CollectTests
{
    private static readonly int[] Failing = [0, 7, 8, 40, 99];

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Cases.AllThrowing))]
    public async Task Failures_OfSynchronousItems_AreAllInOneExceptionInSourceOrder(OperatorFamily family, SourceKind kind) =>
        await AssertCollectedAsync(family, kind, static (item, _) => Failing.Contains(item) ? Selectors.ThrowHere(item) : new(item));

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Cases.AllThrowing))]
    public async Task Failures_OfSuspendingItems_AreAllInOneExceptionInSourceOrder(OperatorFamily family, SourceKind kind) =>
        await AssertCollectedAsync(
            family,
            kind,
            static async (item, _) =>
            {
                await Task.Yield();
                return Failing.Contains(item) ? await Selectors.ThrowHereAfterYield(item) : item;
            });

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Cases.AllThrowing))]
    public async Task Failures_OfAllItems_LeaveNoResults(OperatorFamily family, SourceKind kind)
    {
        Task<List<int>> running = family.RunAsync(
            TestSource.Of(kind, 50), static (item, _) => Selectors.ThrowHere(item),
            new() { MaxDegreeOfParallelism = 3, ErrorMode = ErrorMode.CollectAndContinue });
        ItemsFailedException e = await Assert.ThrowsAnyAsync<ItemsFailedException>(() => running.WithinAsync());
        Assert.Equal(50, e.Failures.Count);
        Assert.Equal("50 items failed.", e.Message.Split(" (")[0]);
        if (e is ItemsFailedException<int> typed)
        {
            Assert.Empty(typed.Results);
        }
    }

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Cases.AllThrowing))]
    public async Task Failures_None_GivesAllResults(OperatorFamily family, SourceKind kind) =>
        Assert.Equal(
            20, (await family.RunAsync(TestSource.Of(kind, 20), Selectors.Twice, new() { ErrorMode = ErrorMode.CollectAndContinue }).WithinAsync()).Count);

    private static async Task AssertCollectedAsync(OperatorFamily family, SourceKind kind, Func<int, CancellationToken, ValueTask<int>> selector)
    {
        TestSource source = TestSource.Of(kind, 100);
        int calls = 0;
        Task<List<int>> running = family.RunAsync(
            source,
            (item, token) =>
            {
                Interlocked.Increment(ref calls);
                return selector(item, token);
            },
            new() { MaxDegreeOfParallelism = 4, ErrorMode = ErrorMode.CollectAndContinue });
        ItemsFailedException e = await Assert.ThrowsAnyAsync<ItemsFailedException>(() => running.WithinAsync());
        Assert.Equal(100, calls);
        Assert.Equal(Failing.Select(static i => (long)i), e.Failures.Select(static f => f.Index));
        Assert.All(e.Failures, static f => Assert.Equal($"item {f.Index}", f.Error.Message));
        Assert.All(e.Failures, static f => Assert.Contains(nameof(Selectors.ThrowHere), f.Error.StackTrace, StringComparison.Ordinal));
        Assert.Equal(e.Failures.Select(static f => f.Error), e.InnerExceptions);
        if (family is OperatorFamily.List or OperatorFamily.BatchList)
        {
            ItemsFailedException<int> typed = Assert.IsType<ItemsFailedException<int>>(e);
            Assert.Equal(Enumerable.Range(0, 100).Except(Failing), typed.Results);
        }

        source.AssertUsedWell();
    }
}
