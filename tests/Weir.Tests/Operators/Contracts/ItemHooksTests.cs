using System.Collections.Concurrent;
using Weir.Resilience;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Operators.Contracts;

/// <summary>Do hooks that want the item get it, with its index, the attempt and the exception, and are they treated as those that get the index?</summary>
public class ItemHooksTests
{
    public static MatrixTheoryData<OperatorFamily, SourceKind, bool> AnyFamilyKindAndWork() => new(Cases.Families, Cases.Kinds, [false, true]);

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(AnyFamilyKindAndWork))]
    public async Task Hooks_OfMixedItems_GetItemIndexAttemptAndException(OperatorFamily family, SourceKind kind, bool yields)
    {
        foreach (int limit in new[] { 1, 3, 200 })
        {
            ConcurrentQueue<(string Hook, int Item, long Index, int Attempt, string? Error)> told = [];
            int[] calls = new int[60];
            Task<List<int>> running = family.RunAsync(
                TestSource.Of(kind, 60),
                async (item, _) =>
                {
                    int call = Interlocked.Increment(ref calls[item]);
                    if (yields)
                    {
                        await Task.Yield();
                    }

                    return (item % 4) switch
                    {
                        0 => item,
                        1 => call == 1 ? throw new TimeoutException($"first {item}") : item,
                        2 => throw new TimeoutException($"call {call}"),
                        _ => throw new TestException($"item {item}"),
                    };
                },
                new()
                {
                    MaxDegreeOfParallelism = limit,
                    ErrorMode = ErrorMode.BestEffort,
                    MaxRetries = 2,
                    BaseDelay = TimeSpan.Zero,
                    Hooks = HooksOf(family, told),
                });
            await running.WithinAsync();

            foreach (int item in Enumerable.Range(0, 60))
            {
                (string, int, long, int, string?)[] expected = (item % 4) switch
                {
                    0 => [("start", item, item, 1, null), ("complete", item, item, 1, null)],
                    1 => [("start", item, item, 1, null), ("retry", item, item, 1, $"first {item}"), ("complete", item, item, 2, null)],
                    2 =>
                    [
                        ("start", item, item, 1, null), ("retry", item, item, 1, "call 1"), ("retry", item, item, 2, "call 2"),
                        ("error", item, item, 3, "call 3"),
                    ],
                    _ => [("start", item, item, 1, null), ("error", item, item, 1, $"item {item}")],
                };
                Assert.Equal(expected, told.Where(t => t.Item == item));
            }
        }
    }

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData("start")]
    [InlineData("complete")]
    [InlineData("retry")]
    [InlineData("error")]
    public async Task Hook_Throws_IsTreatedAsThatOfTheIndex(string which)
    {
        foreach (bool later in new[] { false, true })
        {
            ParallelRunOptions options = new()
            {
                ErrorMode = ErrorMode.CollectAndContinue,
                MaxRetries = 2,
                BaseDelay = TimeSpan.Zero,
                MaxDegreeOfParallelism = 2,
            };
            int[] ofItems = new int[8];
            int[] ofIndices = new int[8];
            string byItem = await FailuresAsync(options with { Hooks = Throwing(which, later) }, ofItems);
            string byIndex = await FailuresAsync(
                which switch
                {
                    "start" => options with { OnStartItemAsync = index => ThrowAsync(later, index) },
                    "complete" => options with { OnCompleteItemAsync = index => ThrowAsync(later, index) },
                    "retry" => options with { OnRetryAsync = (index, _, _) => ThrowAsync(later, index) },
                    _ => options with { OnErrorAsync = async (index, _) =>
                    {
                        await ThrowAsync(later, index);
                        return true;
                    } },
                },
                ofIndices);
            Assert.Equal(byIndex, byItem);
            Assert.Equal(ofIndices, ofItems);
        }
    }

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(ErrorMode.FailFast)]
    [InlineData(ErrorMode.CollectAndContinue)]
    [InlineData(ErrorMode.BestEffort)]
    public async Task OnError_OfItems_AnswersFalse_StopsTheRun(ErrorMode mode)
    {
        int calls = 0;
        int told = 0;
        Task<List<int>> running = Enumerable.Range(0, 1_000).SelectParallelAsync(
            (x, _) =>
            {
                Interlocked.Increment(ref calls);
                return x == 3 ? throw new TestException("three") : new ValueTask<int>(x);
            },
            new ParallelRunOptions
            {
                MaxDegreeOfParallelism = 1,
                ErrorMode = mode,
                OnErrorAsync = (_, _) => new(Interlocked.Increment(ref told) > 0),
                Hooks = new ItemHooks<int> { OnErrorAsync = _ => new(Interlocked.Increment(ref told) < 0) },
            });
        await running.EndsAsync();
        Assert.Equal((4, 2), (calls, told));
        Assert.Equal(mode == ErrorMode.BestEffort, running.IsCompletedSuccessfully);
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task OnError_OfAnItemThatTimesOut_GetsTheItem()
    {
        ManualTimeProvider clock = new();
        ConcurrentQueue<(string Item, long Index, int Attempt, bool IsTimeout)> told = [];
        using Gate inside = new();
        using Gate never = new();
        Task<List<int>> running = new[] { "a", "b" }.SelectParallelAsync(
            async (x, _) =>
            {
                if (x == "b")
                {
                    inside.Open();
                    await never.WaitAsync();
                }

                return x.Length;
            },
            new ParallelRunOptions
            {
                MaxDegreeOfParallelism = 1,
                ErrorMode = ErrorMode.BestEffort,
                PerItemTimeout = TimeSpan.FromSeconds(1),
                TimeProvider = clock,
                Hooks = new ItemHooks<string>
                {
                    OnErrorAsync = attempt =>
                    {
                        told.Enqueue((attempt.Item, attempt.Index, attempt.Attempt, TimeoutFailure.Is(attempt.Error)));
                        return new(true);
                    },
                },
            });
        await inside.WaitAsync();
        await clock.AdvanceUntilAsync(running, TimeSpan.FromSeconds(1));
        await running.WithinAsync();
        Assert.Equal([("b", 1L, 1, true)], told);
        never.Open();
    }

    [Fact]
    public void Hooks_OfItemsOfAnotherType_AreRefusedAtTheCall()
    {
        ParallelRunOptions options = new() { Hooks = new ItemHooks<string>() };
        ArgumentException e = Assert.Throws<ArgumentException>("Hooks", () => { _ = new[] { 1 }.SelectParallelAsync(Selectors.Twice, options); });
        Assert.Contains("of type String, but the items here are of type Int32", e.Message, StringComparison.Ordinal);
        Assert.Throws<ArgumentException>("Hooks", () => { _ = new[] { 1 }.ForEachParallelAsync(static (_, _) => default(ValueTask), options); });
        Assert.Throws<ArgumentException>("Hooks", () => { _ = new[] { 1 }.SelectParallelOutcomesAsync(Selectors.Twice, options); });
        Assert.Throws<ArgumentException>("Hooks", () => { _ = new[] { 1 }.SelectParallelStreamAsync(Selectors.Twice, options); });
    }

    private static async Task<string> FailuresAsync(ParallelRunOptions options, int[] calls)
    {
        Task<List<int>> running = Enumerable.Range(0, 8).SelectParallelAsync(
            (x, _) =>
            {
                Interlocked.Increment(ref calls[x]);
                return x % 2 == 1 ? throw new TimeoutException("call") : new ValueTask<int>(x);
            },
            options);
        await running.EndsAsync();
        ItemsFailedException e = Assert.IsAssignableFrom<ItemsFailedException>(running.Exception!.InnerException);
        return string.Join(", ", e.Failures.Select(static f => $"{f.Index}: {f.Error.Message}").Order(StringComparer.Ordinal));
    }

    private static async ValueTask ThrowAsync(bool later, long index)
    {
        if (later)
        {
            await Task.Yield();
        }

        throw new TestException($"hook {index}");
    }

    private static ItemHooks<int> Throwing(string which, bool later) => which switch
    {
        "start" => new() { OnStartItemAsync = attempt => ThrowAsync(later, attempt.Index) },
        "complete" => new() { OnCompleteItemAsync = attempt => ThrowAsync(later, attempt.Index) },
        "retry" => new() { OnRetryAsync = attempt => ThrowAsync(later, attempt.Index) },
        _ => new()
        {
            OnErrorAsync = async attempt =>
            {
                await ThrowAsync(later, attempt.Index);
                return true;
            },
        },
    };

    private static ItemHooks HooksOf(OperatorFamily family, ConcurrentQueue<(string Hook, int Item, long Index, int Attempt, string? Error)> told) =>
        family is OperatorFamily.BatchList or OperatorFamily.BatchStream
            ? HooksOf<IReadOnlyList<int>>(static batch => batch.Single(), told)
            : HooksOf<int>(static item => item, told);

    private static ItemHooks<TItem> HooksOf<TItem>(
        Func<TItem, int> valueOf, ConcurrentQueue<(string Hook, int Item, long Index, int Attempt, string? Error)> told)
    {
        return new ItemHooks<TItem>
        {
            OnStartItemAsync = a => TellAsync("start", a),
            OnCompleteItemAsync = a => TellAsync("complete", a),
            OnRetryAsync = a => TellAsync("retry", a),
            OnErrorAsync = async a =>
            {
                await TellAsync("error", a);
                return true;
            },
        };

        async ValueTask TellAsync(string hook, ItemAttempt<TItem> attempt)
        {
            if (valueOf(attempt.Item) % 3 == 0)
            {
                await Task.Yield();
            }

            told.Enqueue((hook, valueOf(attempt.Item), attempt.Index, attempt.Attempt, attempt.Error?.Message));
        }
    }
}
