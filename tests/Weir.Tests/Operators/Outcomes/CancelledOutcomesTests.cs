using System.Collections.Concurrent;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Operators.Outcomes;

/// <summary>What does a caller get who cancels a list of outcomes and wants what was finished?</summary>
public class CancelledOutcomesTests
{
    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Cases.AnyKind), MemberType = typeof(Cases))]
    public async Task Outcomes_OfACancelledRun_AreWhatWasFinished(SourceKind kind)
    {
        using CancellationTokenSource caller = new();
        ConcurrencyProbe probe = new();
        ConcurrentDictionary<int, bool> called = [];
        Task<ItemOutcome<int, int>[]> running = TestSource.Of(kind, 60).OutcomesAsync(
            async (item, token) =>
            {
                called[item] = true;
                if (item is 3 or 4)
                {
                    using (probe.Enter())
                    {
                        await Task.Delay(Timeout.InfiniteTimeSpan, TimeProvider.System, token);
                    }
                }

                return item == 1 ? throw new TestException("one") : item;
            },
            new() { MaxDegreeOfParallelism = 2, Output = new() { ReturnOutcomesOnCancellation = true } },
            caller.Token);
        await probe.InsideAsync(2);
        await caller.CancelAsync();

        ItemOutcome<int, int>[] outcomes = await running.WithinAsync();
        Assert.Equal(
            [ItemStatus.Succeeded, ItemStatus.Failed, ItemStatus.Succeeded, ItemStatus.Cancelled, ItemStatus.Cancelled],
            outcomes[..5].Select(static o => o.Status));

        // A worker that is held up before one of the two lets the other run later items.
        Assert.All(outcomes[5..].Index(), o => Assert.Equal(called.ContainsKey(o.Index + 5) ? ItemStatus.Succeeded : ItemStatus.NotRun, o.Item.Status));
        Assert.Equal("one", outcomes[1].Error?.Message);
        if (kind.KnowsCount())
        {
            Assert.Equal(60, outcomes.Length);
        }
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Cases.AnyKind), MemberType = typeof(Cases))]
    public async Task Outcomes_CancelledBeforeTheCall_HaveRunNothing(SourceKind kind)
    {
        int calls = 0;
        ItemOutcome<int, int>[] outcomes = await TestSource.Of(kind, 5).OutcomesAsync(
            (item, _) =>
            {
                Interlocked.Increment(ref calls);
                return new(item);
            },
            new() { Output = new() { ReturnOutcomesOnCancellation = true } },
            new CancellationToken(canceled: true)).WithinAsync();

        Assert.Equal(0, calls);
        Assert.All(outcomes, static o => Assert.Equal(ItemStatus.NotRun, o.Status));
        if (kind.KnowsCount())
        {
            Assert.Equal(5, outcomes.Length);
        }
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Outcomes_AnItemThatWaitsForItsRetry_IsCancelled()
    {
        using CancellationTokenSource caller = new();
        ManualTimeProvider time = new();

        // One at a time: when the second waits, the first has ended.
        Task<ItemOutcome<int, int>[]> running = new[] { 0, 1 }.SelectParallelOutcomesAsync(
            static (x, _) => x == 0 ? new ValueTask<int>(7) : throw new TimeoutException(),
            new ParallelRunOptions
            {
                MaxDegreeOfParallelism = 1, MaxRetries = 3, TimeProvider = time, Output = new() { ReturnOutcomesOnCancellation = true },
            },
            caller.Token);
        await Guard.UntilAsync(() => time.NextDue is not null, "the wait for the second attempt");
        await caller.CancelAsync();

        Assert.Equal([ItemStatus.Succeeded, ItemStatus.Cancelled], (await running.WithinAsync()).Select(static o => o.Status));
    }
}
