using System.Collections.Concurrent;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Operators.Contracts;

/// <summary>Are OnStartItemAsync and OnCompleteItemAsync called around each item, and what if they throw?</summary>
public class ItemHookTests
{
    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Cases.All))]
    public async Task Hooks_EachItem_AreCalledOnceInOrderWithItsIndex(OperatorFamily family, SourceKind kind)
    {
        ConcurrentDictionary<int, string> seen = new();
        void Note(int item, string what) => seen.AddOrUpdate(item, what, (_, before) => before + what);
        await family.RunAsync(
            TestSource.Of(kind, 100),
            async (item, _) =>
            {
                Note(item, "r");
                if (item % 2 == 0)
                {
                    await Task.Yield();
                }

                Note(item, "R");
                return item % 10 == 9 ? throw new TestException("nine") : item;
            },
            new()
            {
                MaxDegreeOfParallelism = 4,
                ErrorMode = ErrorMode.BestEffort,
                OnStartItemAsync = async index =>
                {
                    Note(index, "s");
                    await Task.Yield();
                    Note(index, "S");
                },
                OnCompleteItemAsync = async index =>
                {
                    Note(index, "c");
                    await Task.Yield();
                    Note(index, "C");
                },
                OnErrorAsync = (index, _) =>
                {
                    Note(index, "e");
                    return new(true);
                },
            }).WithinAsync();
        Assert.Equal(100, seen.Count);
        Assert.All(seen, static pair => Assert.Equal(pair.Key % 10 == 9 ? "sSrRe" : "sSrRcC", pair.Value));
    }

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Cases.AllModes))]
    public async Task OnStart_Throws_FailsTheItemWithoutRunningIt(OperatorFamily family, SourceKind kind, ErrorMode mode)
    {
        ConcurrentQueue<int> ran = [];
        ParallelRunOptions options = new()
        {
            OnStartItemAsync = static index => index % 10 == 5 ? throw new TestException($"start {index}") : default,
        };
        await AssertItemsFailAsync(family, kind, mode, options, ran.Enqueue);
        Assert.DoesNotContain(ran, static item => item % 10 == 5);
    }

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Cases.AllModes))]
    public async Task OnComplete_Throws_FailsTheItemAndDropsItsResult(OperatorFamily family, SourceKind kind, ErrorMode mode) =>
        await AssertItemsFailAsync(
            family,
            kind,
            mode,
            new()
            {
                OnCompleteItemAsync = static async index =>
                {
                    await Task.Yield();
                    if (index % 10 == 5)
                    {
                        throw new TestException($"complete {index}");
                    }
                },
            },
            static _ => { });

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task OnComplete_GivesATaskThatWasAwaitedBefore_FailsTheItemWithoutRunningItAgain(bool suspends)
    {
        int runs = 0;
        int[] items = [1];
        ItemOutcome<int, int>[] outcomes = await items.SelectParallelOutcomesAsync(
            async (item, _) =>
            {
                Interlocked.Increment(ref runs);
                if (suspends)
                {
                    await Task.Yield();
                }

                return item;
            },
            new()
            {
                OnCompleteItemAsync = static _ => ConsumedCall.StartHook(), MaxRetries = 3, BaseDelay = TimeSpan.Zero, IsTransient = static _ => true,
            });
        Assert.IsType<InvalidOperationException>(Assert.Single(outcomes).Error);
        Assert.Equal(1, runs);
    }

    private static async Task AssertItemsFailAsync(OperatorFamily family, SourceKind kind, ErrorMode mode, ParallelRunOptions options, Action<int> ran)
    {
        ConcurrentQueue<int> hooked = [];
        Task<List<int>> running = family.RunAsync(
            TestSource.Of(kind, 200),
            (item, _) =>
            {
                ran(item);
                return new(item);
            },
            options with
            {
                MaxDegreeOfParallelism = 3,
                ErrorMode = mode,
                OnErrorAsync = (index, _) =>
                {
                    hooked.Enqueue(index);
                    return new(true);
                },
            });
        int[] failing = [.. Enumerable.Range(0, 20).Select(static i => (i * 10) + 5)];
        if (mode == ErrorMode.BestEffort || family == OperatorFamily.Outcomes)
        {
            List<int> results = await running.WithinAsync();

            // What ForEach gives here is what its action did, which is done before its completion hook.
            Assert.Equal(family == OperatorFamily.ForEach && options.OnCompleteItemAsync is not null ? 200 : 180, results.Count);
            Assert.Equal(failing, hooked.Order());
        }
        else if (mode == ErrorMode.FailFast)
        {
            TestException e = await Assert.ThrowsAsync<TestException>(() => running.WithinAsync());
            Assert.EndsWith($" {Assert.Single(hooked)}", e.Message, StringComparison.Ordinal);
        }
        else
        {
            ItemsFailedException e = await Assert.ThrowsAnyAsync<ItemsFailedException>(() => running.WithinAsync());
            Assert.Equal(failing.Select(static i => (long)i), e.Failures.Select(static f => f.Index));
            Assert.Equal(failing, hooked.Order());
            Assert.Equal(180, (e as ItemsFailedException<int>)?.Results.Count ?? 180);
        }
    }
}
