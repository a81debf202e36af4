using Weir.Tests.Operators.Support;

namespace Weir.Tests.Operators.Outcomes;

/// <summary>Does each item get exactly one outcome, which says how it ended?</summary>
public class OutcomeTests
{
    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Cases.AnyKind), MemberType = typeof(Cases))]
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
    [MemberData(nameof(Cases.AnyKind), MemberType = typeof(Cases))]
    public async Task Outcomes_OfAStoppedRun_SayWhatRanAndWhatDidNot(SourceKind kind)
    {
        using StoppedRun run = new();
        ItemOutcome<int, int>[] outcomes = await run.EndAsync(TestSource.Of(kind, 100).OutcomesAsync(run.CallAsync, StoppedRun.Options));
        if (kind.KnowsCount())
        {
            Assert.Equal(100, outcomes.Length);
        }
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Cases.AnyKind), MemberType = typeof(Cases))]
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
