using System.Collections.Concurrent;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Operators.Contracts;

/// <summary>A list or key that goes wrong while the run is on: one exception, and no result that nobody computed.</summary>
public class ChangedListTests
{
    private static readonly ParallelRunOptions Collecting = new() { MaxDegreeOfParallelism = 3, ErrorMode = ErrorMode.CollectAndContinue };

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(OperatorFamily.List, true, false)]
    [InlineData(OperatorFamily.List, false, false)]
    [InlineData(OperatorFamily.List, true, true)]
    [InlineData(OperatorFamily.List, false, true)]
    [InlineData(OperatorFamily.BatchList, false, false)]
    [InlineData(OperatorFamily.BatchList, false, true)]
    public async Task List_ChangesItsLength_LeavesTheResultsOfItemsThatRan(OperatorFamily family, bool grows, bool suspends)
    {
        for (int round = 0; round < 20; round++)
        {
            List<int> items = [.. Enumerable.Range(1, 1_000)];
            int changeAt = 50 + (round * 20);
            int succeeded = 0;
            Task<List<int>> running = family.RunAsync(
                TestSource.Over(items),
                async (item, _) =>
                {
                    if (suspends && item % 10 == 0)
                    {
                        await Task.Yield();
                    }

                    if (item == changeAt && grows)
                    {
                        items.Add(-1);
                    }
                    else if (item == changeAt)
                    {
                        items.RemoveRange(500, 500);
                    }

                    Interlocked.Increment(ref succeeded);
                    return item;
                },
                Collecting);
            if (await Record.ExceptionAsync(() => running.WithinAsync()) is not { } thrown)
            {
                // The thread that changes the list was held up until the others had claimed the last item.
                Assert.Equal(Enumerable.Range(1, 1_000), await running);
                continue;
            }

            ItemsFailedException<int> e = Assert.IsType<ItemsFailedException<int>>(thrown);
            Assert.Equal(succeeded, e.Results.Count);
            Assert.DoesNotContain(0, e.Results);
            Assert.Equal(e.Results.Order(), e.Results);
            Assert.All(e.Failures, static f => Assert.Contains("changed while the run was reading it", f.Error.Message, StringComparison.Ordinal));
        }
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task List_ShrinksInAnItemThatFailsAndMayBeTriedAgain_KeepsThatItemsFailure()
    {
        List<int> items = [.. Enumerable.Range(0, 1_000)];
        ItemsFailedException e = await Assert.ThrowsAsync<ItemsFailedException<int>>(() => items.SelectParallelAsync<int, int>(
            (item, _) =>
            {
                if (item == 300)
                {
                    items.Clear();
                    throw new TimeoutException("300");
                }

                return new ValueTask<int>(item);
            },
            new() { MaxDegreeOfParallelism = 1, ErrorMode = ErrorMode.CollectAndContinue, MaxRetries = 2, BaseDelay = TimeSpan.Zero }).WithinAsync());
        ItemFailure own = Assert.Single(e.Failures, static f => f.Index == 300);
        Assert.Equal("300", own.Error.Message);
        Assert.Contains(e.Failures, static f => f.Error.Message.Contains("changed while the run was reading it", StringComparison.Ordinal));
    }

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Cases.All))]
    public async Task Key_WhoseHashThrows_LeavesTheResultsOfItemsThatRan(OperatorFamily family, SourceKind kind)
    {
        foreach (bool inEquality in new[] { false, true })
        {
            ConcurrentBag<int> results = [];
            TestSource source = TestSource.Of(kind, 500);
            Task<List<int>> running = family.RunKeyedAsync(
                source,
                (item, _) =>
                {
                    results.Add(item + 1);
                    return new(item + 1);
                },
                item => new Key(item, inEquality),
                Collecting);
            Exception e = await Assert.ThrowsAnyAsync<Exception>(() => running.WithinAsync());
            ItemsFailedException? all = e as ItemsFailedException;
            Assert.Equal("key", Assert.IsType<TestException>(all is null ? e : Assert.Single(all.Failures).Error).Message);
            if (all is ItemsFailedException<int> typed)
            {
                // What another worker had claimed and not begun when the key threw does not run any more.
                Assert.Equal(results.Order(), typed.Results);
                Assert.All(typed.Results, static result => Assert.InRange(result, 1, 106));
            }

            source.AssertUsedWell();
        }
    }

    private sealed class Key(int item, bool throwsInEquality)
    {
        private int Item => item;

        public override int GetHashCode() => item == 106 && !throwsInEquality ? throw new TestException("key") : (item + 1) / 2;

        // Item 106 has the hash of item 105's key here.
        public override bool Equals(object? obj) =>
            throwsInEquality && (item == 106 || obj is Key { Item: 106 }) ? throw new TestException("key") : ReferenceEquals(this, obj);
    }
}
