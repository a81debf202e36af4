using System.Threading.Channels;
using Weir.Runtimes;
using Weir.Tests.Operators.Support;
using Weir.Tests.Runtimes;

namespace Weir.Tests.Operators.Outcomes;

/// <summary>Does each item of calls without a result get exactly one outcome, with the item?</summary>
public class ActionOutcomeTests
{
    private static readonly TimeSpan Second = TimeSpan.FromSeconds(1);

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Cases.AnyKind), MemberType = typeof(Cases))]
    public async Task Outcomes_OfMixedItems_SayHowEachEnded(SourceKind kind)
    {
        ItemOutcome<int>[] outcomes = await RunAsync(
            TestSource.Of(kind, 100), Mixed, new() { MaxDegreeOfParallelism = 3, Output = new() { IncludeDetails = true } }).WithinAsync();
        AssertMixed(outcomes);
        Assert.All(outcomes, static (o, i) => Assert.Equal((i, 1), (o.Details!.Index, o.Details.Attempts)));
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Cases.AnyKind), MemberType = typeof(Cases))]
    public async Task OutcomesStream_OfMixedItems_SaysHowEachEnded(SourceKind kind)
    {
        foreach (bool ordered in new[] { false, true })
        {
            TestSource source = TestSource.Of(kind, 100);
            ParallelRunOptions options = new() { MaxDegreeOfParallelism = 3, OrderedOutput = ordered, Output = new() { IncludeDetails = true } };
            IAsyncEnumerable<(int Index, ItemOutcome<int> Outcome)> stream = source.Sequence?.ForEachParallelOutcomesStreamAsync(Mixed, options)
                ?? source.AsyncSequence?.ForEachParallelOutcomesStreamAsync(Mixed, options)
                ?? source.Channel!.ForEachParallelOutcomesStreamAsync(Mixed, options);
            Assert.Equal(0, source.Record.Reads);
            List<(int Index, ItemOutcome<int> Outcome)> outcomes = await OperatorRunner.GatherAsync(stream).WithinAsync();
            if (ordered)
            {
                Assert.Equal(RuntimeRun.Count(100), outcomes.Select(static o => o.Index));
            }

            AssertMixed([.. outcomes.OrderBy(static o => o.Index).Select(static o => o.Outcome)]);
            Assert.All(outcomes, static o => Assert.Equal((o.Index, 1), ((int)o.Outcome.Details!.Index, o.Outcome.Details.Attempts)));
            source.AssertUsedWell();
        }
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task OutcomesStream_WhoseConsumerLeavesOrCancels_EndsItsRun()
    {
        foreach (bool cancels in new[] { false, true })
        {
            using CancellationTokenSource caller = new();
            ConcurrencyProbe probe = new();
            IAsyncEnumerable<(int Index, ItemOutcome<int> Outcome)> stream = Enumerable.Range(0, int.MaxValue).ForEachParallelOutcomesStreamAsync(
                async (item, token) =>
                {
                    if (item > 0)
                    {
                        using (probe.Enter())
                        {
                            await Task.Delay(Timeout.InfiniteTimeSpan, TimeProvider.System, token);
                        }
                    }
                },
                new() { MaxDegreeOfParallelism = 2 },
                cancellationToken: CancellationToken.None);
            IAsyncEnumerator<(int Index, ItemOutcome<int> Outcome)> consumer = stream.GetAsyncEnumerator(caller.Token);
            Assert.True(await consumer.MoveNextAsync());
            Assert.Equal((0, ItemStatus.Succeeded), (consumer.Current.Index, consumer.Current.Outcome.Status));
            await probe.InsideAsync(2);
            if (cancels)
            {
                Task<bool> step = consumer.MoveNextAsync().AsTask();
                await caller.CancelAsync();
                Assert.Equal(caller.Token, (await Assert.ThrowsAnyAsync<OperationCanceledException>(() => step.WithinAsync())).CancellationToken);
            }

            await consumer.DisposeAsync().AsTask().WithinAsync();
            Assert.Equal(0, probe.Inside);
        }
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Cases.AnyKind), MemberType = typeof(Cases))]
    public async Task Outcomes_OfACancelledRun_HaveTheItemsToRunAgain(SourceKind kind)
    {
        using CancellationTokenSource caller = new();
        ConcurrencyProbe probe = new();
        Task<ItemOutcome<int>[]> running = RunAsync(
            TestSource.Of(kind, 20),
            async (item, token) =>
            {
                if (item > 0)
                {
                    using (probe.Enter())
                    {
                        await Task.Delay(Timeout.InfiniteTimeSpan, TimeProvider.System, token);
                    }
                }
            },
            new() { MaxDegreeOfParallelism = 2, Output = new() { ReturnOutcomesOnCancellation = true } },
            caller.Token);
        await probe.InsideAsync(2);
        await caller.CancelAsync();
        ItemOutcome<int>[] outcomes = await running.WithinAsync();
        Assert.Equal([0], outcomes.Where(static o => o.IsSuccess).Select(static o => o.Item));

        // Which two wait is open: the neighbour of an item that waits is given back, and the other worker may have claimed a later one before that.
        Assert.Equal(2, outcomes.Count(static o => o.Status == ItemStatus.Cancelled));
        Assert.Equal(outcomes.Length - 3, outcomes.Count(static o => o.Status == ItemStatus.NotRun));
        Assert.Equal(Enumerable.Range(1, outcomes.Length - 1), outcomes.NotSucceeded());
        Assert.Empty(outcomes.Failed());
        Assert.Throws<OperationCanceledException>(() => outcomes.ThrowIfFailed());
        Assert.Equal(kind.KnowsCount(), outcomes.Length == 20);
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Cases.AnyKind), MemberType = typeof(Cases))]
    public async Task Outcomes_OfAnItemOutOfTime_SayTimedOut(SourceKind kind)
    {
        ManualTimeProvider clock = new();
        ConcurrencyProbe probe = new();
        Task<ItemOutcome<int>[]> running = RunAsync(
            TestSource.Of(kind, 2),
            async (item, token) =>
            {
                if (item == 1)
                {
                    using (probe.Enter())
                    {
                        await Task.Delay(Timeout.InfiniteTimeSpan, TimeProvider.System, token);
                    }
                }
            },
            new() { MaxDegreeOfParallelism = 1, PerItemTimeout = Second, TimeProvider = clock });
        await probe.InsideAsync(1);
        await clock.AdvanceUntilAsync(running, Second);
        ItemOutcome<int>[] outcomes = await running.WithinAsync();
        Assert.Equal([ItemStatus.Succeeded, ItemStatus.TimedOut], outcomes.Select(static o => o.Status));
        Assert.Equal([1], outcomes.Failed());
        Assert.IsType<ItemTimeoutException>(outcomes[1].Error?.InnerException);
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(RuntimeCases.Every), MemberType = typeof(RuntimeCases))]
    public async Task Runtimes_WithoutAResult_GiveAnOutcomeForEachItem(string name)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        AssertMixed(await runtime.ProcessManyAsync(RuntimeRun.Count(100), Mixed).WithinAsync());
        AssertMixed(await runtime.ProcessManyAsync(RuntimeRun.Count(100).Where(static x => x >= 0), Mixed).WithinAsync());
        AssertMixed(await runtime.ProcessManyAsync(RuntimeRun.Count(100).PartitionBy(static x => x % 3), Mixed).WithinAsync());
        AssertMixed(await runtime.ProcessManyAsync(RuntimeRun.Count(100), MixedNow).WithinAsync());
        AssertMixed(await runtime.ProcessManyAsync(RuntimeRun.Count(100), static async x => await Mixed(x, default)).WithinAsync());
        AssertMixed(await runtime.ProcessManyAsync(RuntimeRun.Count(100), static (x, token) => Mixed(x, token).AsTask(), null, CancellationToken.None).WithinAsync());
        using CancellationTokenSource caller = new();
        await caller.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => runtime.ProcessManyAsync([1], static _ => { }, cancellationToken: caller.Token));
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(RuntimeCases.Every), MemberType = typeof(RuntimeCases))]
    public async Task StreamsOfRuntimes_WithoutAResult_GiveAnOutcomeForEachItem(string name)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        int[] items = RuntimeRun.Count(100);
        Channel<int> channel = Channel.CreateBounded<int>(items.Length);
        Assert.All(items, item => Assert.True(channel.Writer.TryWrite(item)));
        channel.Writer.Complete();
        await AssertStreamAsync(runtime.ProcessManyStreamAsync(items, Mixed));
        await AssertStreamAsync(runtime.ProcessManyStreamAsync(items, MixedNow));
        await AssertStreamAsync(runtime.ProcessManyStreamAsync(items, static (x, token) => Mixed(x, token).AsTask()));
        await AssertStreamAsync(runtime.ProcessManyStreamAsync(items.Where(static x => x >= 0), static async x => await Mixed(x, default)));
        await AssertStreamAsync(runtime.ProcessManyStreamAsync(items.PartitionBy(static x => x % 3), Mixed));
        await AssertStreamAsync(runtime.ProcessManyStreamAsync(items.ToAsyncEnumerable(), Mixed));
        await AssertStreamAsync(runtime.ProcessManyStreamAsync(channel.Reader, Mixed));
        List<int> ordered = [];
        await foreach ((int index, ItemOutcome<int> outcome) in runtime.ProcessManyStreamAsync(items, Mixed, orderedOutput: true))
        {
            Assert.Equal(index, outcome.Item);
            ordered.Add(index);
        }

        Assert.Equal(items, ordered);

        // Leaving early ends the run; cancelling the enumeration does too.
        await foreach ((int _, ItemOutcome<int> _) in runtime.ProcessManyStreamAsync(Enumerable.Range(0, int.MaxValue), static _ => { }))
        {
            break;
        }

        using CancellationTokenSource caller = new();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(async () =>
        {
            await foreach ((int _, ItemOutcome<int> _) in runtime.ProcessManyStreamAsync(Enumerable.Range(0, int.MaxValue), static _ => { }).WithCancellation(caller.Token))
            {
                await caller.CancelAsync();
            }
        }).WithinAsync();
        Assert.Equal(0, runtime.Statistics.ActiveCalls);

        static async Task AssertStreamAsync(IAsyncEnumerable<(int Index, ItemOutcome<int> Outcome)> stream)
        {
            List<(int Index, ItemOutcome<int> Outcome)> all = [];
            await foreach ((int, ItemOutcome<int>) one in stream)
            {
                all.Add(one);
            }

            Assert.All(all, static one => Assert.Equal(one.Index, one.Outcome.Item));
            AssertMixed([.. all.OrderBy(static one => one.Index).Select(static one => one.Outcome)]);
        }
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(RuntimeCases.Every), MemberType = typeof(RuntimeCases))]
    public async Task Runtimes_OutOfTime_SayWhatTimedOutAndWhatNeverRan(string name)
    {
        ManualTimeProvider clock = new();
        await using IExecutionRuntime runtime = RuntimeCases.Create(name, clock);
        using RuntimeGate gate = new();
        Task<ItemOutcome<int>[]> call = Task.Run(() => runtime.ProcessManyAsync(
            new HashSet<int>(RuntimeRun.Count(200)),
            async (x, token) =>
            {
                if (x > 0)
                {
                    await gate.PassAsync(x, token);
                }
            },
            new ProcessManyOptions { TotalTimeout = Second }));
        await gate.ArrivedAsync(1);

        // Another worker may be at the gate before the first item has ended.
        Assert.True(await RuntimeRun.UntilAsync(() => runtime.Statistics.Succeeded == 1), $"{runtime.Statistics}");
        await clock.PassAsync(Second, call);
        ItemOutcome<int>[] outcomes = await call.WithinAsync();
        Assert.Equal(RuntimeRun.Count(200), outcomes.Select(static o => o.Item));
        Assert.Equal(ItemStatus.Succeeded, outcomes[0].Status);
        Assert.Contains(outcomes, static o => o.Status == ItemStatus.TimedOut);
        Assert.Contains(outcomes, static o => o.Status == ItemStatus.NotRun);
        Assert.Equal(RuntimeRun.Count(200)[1..], outcomes.NotSucceeded());
    }

    [Fact]
    public async Task Arguments_ThatAreWrong_AreRefusedByName()
    {
        await using DirectRuntime direct = new();
        ParallelRunOptions withFallback = new() { OnFallback = Fallback.Of<int>(static (_, _) => 1) };
        ParallelRunOptions withRule = new() { MaxRetries = 1, ShouldRetry = RetryRule.Of<int>(static _ => true) };
        Assert.Throws<ArgumentNullException>("action", () => { _ = new[] { 1 }.ForEachParallelOutcomesAsync((Action<int>)null!); });
        Assert.Throws<ArgumentNullException>("action", () => { _ = new[] { 1 }.ForEachParallelOutcomesAsync((Func<int, CancellationToken, ValueTask>)null!); });
        Assert.Throws<ArgumentNullException>("source", () => { _ = ((int[])null!).ForEachParallelOutcomesAsync(static _ => { }); });
        Assert.Throws<ArgumentException>("OnFallback", () => { _ = new[] { 1 }.ForEachParallelOutcomesAsync(static _ => { }, withFallback); });
        Assert.Throws<ArgumentException>("ShouldRetry", () => { _ = new[] { 1 }.ForEachParallelOutcomesAsync(static _ => { }, withRule); });
        Assert.Throws<ArgumentNullException>("action", () => { _ = new[] { 1 }.ForEachParallelOutcomesStreamAsync((Action<int>)null!); });
        Assert.Throws<ArgumentNullException>("source", () => { _ = ((int[])null!).ForEachParallelOutcomesStreamAsync(static _ => { }); });
        Assert.Throws<ArgumentException>("OnFallback", () => { _ = new[] { 1 }.ForEachParallelOutcomesStreamAsync(static _ => { }, withFallback); });
        Assert.Throws<ArgumentException>("ShouldRetry", () => { _ = new[] { 1 }.ForEachParallelOutcomesStreamAsync(static _ => { }, withRule); });
        Assert.Throws<ArgumentNullException>("processor", () => { _ = direct.ProcessManyAsync([1], (Action<int>)null!); });
        Assert.Throws<ArgumentNullException>("processor", () => { _ = direct.ProcessManyAsync([1], (Func<int, CancellationToken, ValueTask>)null!); });
        Assert.Throws<ArgumentNullException>("runtime", () => { _ = ((IExecutionRuntime)null!).ProcessManyAsync([1], static _ => { }); });
        Assert.Throws<ArgumentException>("OnFallback", () => { _ = direct.ProcessManyAsync([1], static _ => { }, new() { Policies = withFallback }); });
        Assert.Throws<ArgumentException>("ShouldRetry", () => { _ = direct.ProcessManyAsync([1], static _ => { }, new() { Policies = withRule }); });
        Assert.Throws<ArgumentNullException>("items", () => { _ = direct.ProcessManyStreamAsync((int[])null!, static _ => { }); });
        Assert.Throws<ArgumentNullException>("processor", () => { _ = direct.ProcessManyStreamAsync([1], (Func<int, CancellationToken, ValueTask>)null!); });
        Assert.Throws<ArgumentNullException>("runtime", () => { _ = ((IExecutionRuntime)null!).ProcessManyStreamAsync([1], static _ => { }); });
        Assert.Throws<ArgumentException>("OnFallback", () => { _ = direct.ProcessManyStreamAsync([1], static _ => { }, options: new() { Policies = withFallback }); });
        Assert.Throws<ArgumentException>("ShouldRetry", () => { _ = direct.ProcessManyStreamAsync([1], static _ => { }, options: new() { Policies = withRule }); });
    }

    private static ValueTask Mixed(int item, CancellationToken token) => (item % 3) switch
    {
        0 => throw new TestException($"item {item}"),
        1 => new ValueTask(Task.Run(static () => { }, token)),
        _ => default,
    };

    private static void MixedNow(int item)
    {
        if (item % 3 == 0)
        {
            throw new TestException($"item {item}");
        }
    }

    private static void AssertMixed(ItemOutcome<int>[] outcomes)
    {
        Assert.Equal(RuntimeRun.Count(100), outcomes.Select(static o => o.Item));
        Assert.All(outcomes, static o => Assert.Equal(
            o.Item % 3 == 0 ? (ItemStatus.Failed, $"item {o.Item}") : (ItemStatus.Succeeded, null), (o.Status, o.Error?.Message)));
        Assert.Equal(RuntimeRun.Count(100).Where(static x => x % 3 == 0), outcomes.Failed());
        ItemsFailedException failed = Assert.Throws<ItemsFailedException>(() => outcomes.ThrowIfFailed());
        Assert.Equal(outcomes.Failed(), failed.Failures.Select(static f => (int)f.Index));
    }

    private static Task<ItemOutcome<int>[]> RunAsync(
        TestSource source, Func<int, CancellationToken, ValueTask> action, ParallelRunOptions options, CancellationToken token = default) =>
        source.Sequence?.ForEachParallelOutcomesAsync(action, options, token)
        ?? source.AsyncSequence?.ForEachParallelOutcomesAsync(action, options, token)
        ?? source.Channel!.ForEachParallelOutcomesAsync(action, options, token);
}
