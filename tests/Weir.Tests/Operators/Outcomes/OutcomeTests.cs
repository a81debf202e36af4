using System.Collections.Concurrent;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Operators.Outcomes;

/// <summary>Does each item get exactly one outcome, which says how it ended?</summary>
public class OutcomeTests
{
    public static TheoryData<SourceKind> AnyKind() => [.. Cases.Kinds];

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(AnyKind))]
    public async Task Outcomes_OfMixedItems_SayHowEachEnded(SourceKind kind)
    {
        foreach (ErrorMode mode in Cases.Modes)
        {
            ItemOutcome<int, int>[] outcomes = await TestSource.Of(kind, 100).OutcomesAsync(
                static (item, _) => (item % 4) switch
                {
                    0 => Selectors.ThrowHere(item),
                    1 => Selectors.ThrowHereAfterYield(item),
                    2 => Selectors.TwiceAfterYield(item, default),
                    _ => new(item * 2),
                },
                new() { MaxDegreeOfParallelism = 3, ErrorMode = mode }).WithinAsync();
            Assert.Equal(100, outcomes.Length);
            for (int i = 0; i < 100; i++)
            {
                ItemOutcome<int, int> outcome = outcomes[i];
                if (i % 4 > 1)
                {
                    Assert.Equal((ItemStatus.Succeeded, i * 2), (outcome.Status, outcome.Value));
                    Assert.Equal(i * 2, outcome.GetValueOrThrow());
                    Assert.Null(outcome.Error);
                    continue;
                }

                Assert.Equal((ItemStatus.Failed, $"item {i}"), (outcome.Status, outcome.Error?.Message));
                Assert.Throws<InvalidOperationException>(() => outcome.Value);
                Assert.Contains(
                    nameof(Selectors.ThrowHere), Assert.Throws<TestException>(() => outcome.GetValueOrThrow()).StackTrace, StringComparison.Ordinal);
            }
        }
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(AnyKind))]
    public async Task Outcomes_OfAStoppedRun_SayWhatRanAndWhatDidNot(SourceKind kind)
    {
        ConcurrencyProbe probe = new();
        using Gate gate = new();
        ConcurrentDictionary<int, bool> called = [];
        Task<ItemOutcome<int, int>[]> running = TestSource.Of(kind, 100).OutcomesAsync(
            async (item, token) =>
            {
                called[item] = true;
                using (probe.Enter())
                {
                    if (item == 1)
                    {
                        await gate.WaitAsync();
                        throw new TestException("stop");
                    }

                    if (item > 0)
                    {
                        await Task.Delay(Timeout.InfiniteTimeSpan, TimeProvider.System, token);
                    }

                    return item;
                }
            },
            new() { MaxDegreeOfParallelism = 3, OnErrorAsync = static (_, _) => new(false) });

        // The first item, which ends at once, may be inside for a while beside the next two.
        await probe.EnteredAsync(4);
        await probe.InsideAsync(3);
        gate.Open();
        ItemOutcome<int, int>[] outcomes = await running.WithinAsync();
        Assert.All(outcomes.Index(), o => Assert.Equal(
            o.Index == 0 ? ItemStatus.Succeeded : o.Index == 1 ? ItemStatus.Failed : called.ContainsKey(o.Index) ? ItemStatus.Cancelled : ItemStatus.NotRun,
            o.Item.Status));
        Assert.Equal(4, called.Count);
        if (kind.KnowsCount())
        {
            Assert.Equal(100, outcomes.Length);
        }
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(AnyKind))]
    public async Task Outcomes_OfAnItemOutOfTime_SayTimedOut(SourceKind kind)
    {
        ManualTimeProvider clock = new();
        using Gate gate = new();
        ConcurrencyProbe probe = new();
        Task<ItemOutcome<int, int>[]> running = TestSource.Of(kind, 2).OutcomesAsync(
            async (item, _) =>
            {
                if (item == 0)
                {
                    return item;
                }

                using (probe.Enter())
                {
                    await gate.WaitAsync();
                    return item;
                }
            },
            new() { MaxDegreeOfParallelism = 1, PerItemTimeout = TimeSpan.FromSeconds(1), TimeProvider = clock });
        await probe.InsideAsync(1);
        await clock.AdvanceUntilAsync(running, TimeSpan.FromSeconds(1));
        ItemOutcome<int, int>[] outcomes = await running.WithinAsync();
        Assert.Equal([ItemStatus.Succeeded, ItemStatus.TimedOut], outcomes.Select(static o => o.Status));
        Assert.IsType<ItemTimeoutException>(outcomes[1].Error?.InnerException);
        Assert.Equal(0, clock.LiveTimers);
    }
}
