using System.Runtime.CompilerServices;
using Weir.Resilience;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Operators.Outcomes;

/// <summary>Do outcomes say which item it was, how often its call was made and how long it took, exactly, and only where somebody asks?</summary>
public class DetailsTests
{
    private static readonly TimeSpan Second = TimeSpan.FromSeconds(1);

    public static MatrixTheoryData<SourceKind, bool, ErrorMode> AnyKindWayAndMode() => new(Cases.Kinds, [false, true], Cases.Modes);

    public static MatrixTheoryData<SourceKind, bool> AnyKindAndWay() => new(Cases.Kinds, [false, true]);

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(AnyKindWayAndMode))]
    public async Task Details_OfRetriedItems_CountEachCall(SourceKind kind, bool asStream, ErrorMode mode)
    {
        foreach (int limit in new[] { 1, 3, 200 })
        {
            int[] calls = new int[100];
            ItemOutcome<int, int>[] outcomes = await RunAsync(
                asStream,
                TestSource.Of(kind, 100),
                async (item, _) =>
                {
                    int call = Interlocked.Increment(ref calls[item]);
                    if (item % 2 == 0)
                    {
                        await Task.Yield();
                    }

                    return (item % 5) switch
                    {
                        0 or 1 => item,
                        2 => call == 1 ? throw new TimeoutException() : item,
                        3 => throw new TimeoutException(),
                        _ => throw new TestException("not transient"),
                    };
                },
                new()
                {
                    MaxDegreeOfParallelism = limit,
                    ErrorMode = mode,
                    Retry = new() { MaxRetries = 2, BaseDelay = TimeSpan.Zero },
                    Output = new() { IncludeDetails = true },
                });

            Assert.Equal(100, outcomes.Length);
            int[] expected = [1, 1, 2, 3, 1];
            Assert.All(outcomes.Index(), o => Assert.Equal((o.Index, expected[o.Index % 5]), ((int)o.Item.Details!.Index, o.Item.Details.Attempts)));
            Assert.All(outcomes.Index(), o => Assert.Equal(calls[o.Index], o.Item.Details!.Attempts));
            Assert.All(outcomes, static o => Assert.True(o.Details!.Duration >= TimeSpan.Zero));
            Assert.All(outcomes.Index(), static o => Assert.Equal(o.Index % 5 < 3, o.Item.IsSuccess));
            Assert.All(outcomes.Index(), static o => Assert.Equal(o.Index % 5 < 3 ? o.Index : 0, o.Item.ValueOrDefault));
            Assert.Equal("not transient", outcomes[4].Error?.Message);
            Assert.Throws<TestException>(() => outcomes[4].GetValueOrThrow());
        }
    }

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Duration_OfARetriedItem_HasItsWait(bool asStream)
    {
        ManualTimeProvider clock = new();
        int calls = 0;
        Task<ItemOutcome<int, int>[]> running = RunAsync(
            asStream,
            TestSource.Of(SourceKind.Array, 1),
            (item, _) => ++calls == 1 ? throw new TimeoutException() : new(item),
            new()
            {
                Retry = new() { MaxRetries = 1, BaseDelay = Second, BackoffStrategy = BackoffStrategy.Exponential },
                TimeProvider = clock,
                Output = new() { IncludeDetails = true },
            });
        await Guard.UntilAsync(() => clock.NextDue == Second, "the wait for the second attempt");
        clock.Advance(Second);

        Assert.Equal(Second, (await running.WithinAsync())[0].Details!.Duration);
    }

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Details_OfAnItemThatTimesOut_AreThoseOfThatMoment(bool asStream)
    {
        ManualTimeProvider clock = new();
        using Gate never = new();
        using Gate inside = new();
        Task<ItemOutcome<int, int>[]> running = RunAsync(
            asStream,
            TestSource.Of(SourceKind.Array, 2),
            async (item, _) =>
            {
                if (item == 1)
                {
                    inside.Open();
                    await never.WaitAsync();
                }

                return item;
            },
            new() { MaxDegreeOfParallelism = 1, PerItemTimeout = Second, TimeProvider = clock, Output = new() { IncludeDetails = true } });
        await inside.WaitAsync();
        await clock.AdvanceUntilAsync(running, Second);

        ItemOutcome<int, int>[] outcomes = await running.WithinAsync();
        Assert.Equal([ItemStatus.Succeeded, ItemStatus.TimedOut], outcomes.Select(static o => o.Status));
        Assert.Equal((1, 1), (outcomes[1].Details!.Index, outcomes[1].Details!.Attempts));
        Assert.InRange(outcomes[1].Details!.Duration, Second, 2 * Second);
        Assert.True(TimeoutFailure.Is(outcomes[1].Error));
        never.Open();
    }

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(AnyKindAndWay))]
    public async Task Details_OfAStoppedRun_AreThereForWhatNeverRan(SourceKind kind, bool asStream)
    {
        using StoppedRun run = new();
        ItemOutcome<int, int>[] outcomes = await run.EndAsync(
            RunAsync(asStream, TestSource.Of(kind, 50), run.CallAsync, StoppedRun.Options with { Output = new() { IncludeDetails = true } }));
        Assert.All(outcomes.Index(), o => Assert.Equal((o.Index, run.CallsOf(o.Index)), ((int)o.Item.Details!.Index, o.Item.Details.Attempts)));
        Assert.All(outcomes.Where(static o => o.Status == ItemStatus.NotRun), static o => Assert.Equal(TimeSpan.Zero, o.Details!.Duration));
        Assert.Equal(4, outcomes.Count(static o => o.Details!.Attempts == 1));
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Details_OfARunThatItsCallerCancels_AreThereForAllItems()
    {
        using CancellationTokenSource caller = new();
        ManualTimeProvider clock = new();
        Task<ItemOutcome<int, int>[]> running = new[] { 0, 1, 2, 3 }.SelectParallelOutcomesAsync(
            static (x, _) => x == 0 ? new ValueTask<int>(7) : throw new TimeoutException(),
            new ParallelRunOptions
            {
                MaxDegreeOfParallelism = 1,
                MaxRetries = 3,
                TimeProvider = clock,
                Output = new() { ReturnOutcomesOnCancellation = true, IncludeDetails = true },
            },
            caller.Token);
        await Guard.UntilAsync(() => clock.NextDue is not null, "the wait for a second attempt");
        await caller.CancelAsync();

        ItemOutcome<int, int>[] outcomes = await running.WithinAsync();
        Assert.Equal([0L, 1, 2, 3], outcomes.Select(static o => o.Details!.Index));
        Assert.All(outcomes, static o => Assert.Equal(o.Status == ItemStatus.NotRun ? 0 : 1, o.Details!.Attempts));
    }

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData("circuit")]
    [InlineData("rate")]
    [InlineData("places")]
    public async Task Attempts_OfItemsGivenUpWhileTheyWait_AreNone(string what)
    {
        ManualTimeProvider clock = new();
        using CancellationTokenSource caller = new();
        ParallelRunOptions options = new() { TimeProvider = clock, Output = new() { IncludeDetails = true, ReturnOutcomesOnCancellation = true } };

        // An item may begin late, when the clock has moved on for long: it has to wait then as well.
        CircuitBreaker breaker = new(new CircuitBreakerOptions { FailureThreshold = 1, OpenTimeout = TimeSpan.FromDays(40), TimeProvider = clock });
        TokenBucket bucket = new(new RateLimitOptions { TokensPerSecond = 1e-6, BurstCapacity = 1, TimeProvider = clock });
        SharedConcurrencyLimit places = new(1);
        if (what == "circuit")
        {
            Assert.True(breaker.TryEnter(out CircuitTicket ticket));
            breaker.Failed(ticket);
            options = options with { CircuitBreaker = breaker, OpenCircuitMode = OpenCircuitMode.WaitForHalfOpen, PerItemTimeout = Second };
        }
        else if (what == "rate")
        {
            Assert.True(bucket.TryEnter());
            options = options with { RateLimit = bucket, PerItemTimeout = Second };
        }
        else
        {
            await places.EnterAsync(TestContext.Current.CancellationToken);
            options = options with { ConcurrencyLimit = places };
        }

        Task<ItemOutcome<int, int>[]> running = new[] { 0, 1 }.SelectParallelOutcomesAsync(static (x, _) => new ValueTask<int>(x), options, caller.Token);
        if (what == "places")
        {
            await Guard.UntilAsync(() => places.Waiting == 2, "the wait for places");
            await caller.CancelAsync();
        }
        else
        {
            await clock.DriveAsync(running, 0.1 * Second);
        }

        ItemOutcome<int, int>[] outcomes = await running.WithinAsync();
        Assert.All(outcomes, o => Assert.Equal(what == "places" ? ItemStatus.NotRun : ItemStatus.TimedOut, o.Status));
        Assert.All(outcomes, static o => Assert.Equal(0, o.Details!.Attempts));
    }

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Details_WithKeysHooksAndFallback_AreThoseOfTheItem(bool asStream)
    {
        ParallelRunOptions options = new()
        {
            MaxDegreeOfParallelism = 4,
            MaxRetries = 1,
            BaseDelay = TimeSpan.Zero,
            OnFallback = Fallback.Of(static (index, _) => -index),
            OnStartItemAsync = static async index =>
            {
                await Task.Yield();
                if (index == 7)
                {
                    throw new TestException("start");
                }
            },
            RateLimit = RateLimits.ByKey(static (int x) => x % 3, new RateLimitOptions { TokensPerSecond = 1_000_000, BurstCapacity = 1_000 }),
            Output = new() { IncludeDetails = true },
        };
        Func<int, CancellationToken, ValueTask<int>> selector = static (x, _) => x % 2 == 0 ? throw new TimeoutException() : new(x);
        PartitionedItems<int> items = Enumerable.Range(0, 60).PartitionBy(static x => x % 5);
        ItemOutcome<int, int>[] outcomes = await (asStream
            ? OperatorRunner.GatherOutcomesAsync(items.SelectParallelOutcomesStreamAsync(selector, options))
            : items.SelectParallelOutcomesAsync(selector, options)).WithinAsync();
        Assert.Equal(60, outcomes.Length);
        Assert.All(outcomes.Index(), static o => Assert.Equal(
            (o.Index, o.Index == 7 ? 0 : o.Index % 2 == 0 ? 2 : 1), ((int)o.Item.Details!.Index, o.Item.Details.Attempts)));
        Assert.All(outcomes.Index(), static o => Assert.Equal(
            o.Index == 7 ? 0 : o.Index % 2 == 0 ? -o.Index : o.Index, o.Item.ValueOrDefault));
        Assert.Equal("start", outcomes[7].Error?.Message);
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Details_ThatNobodyAsksFor_AreNullAndCostNoByte()
    {
        ItemOutcome<int, int>[] outcomes = await new[] { 1, 2 }.SelectParallelOutcomesAsync(static (x, _) => new ValueTask<int>(x)).WithinAsync();
        Assert.All(outcomes, static o => Assert.Null(o.Details));
        Assert.Null(default(ItemOutcome<int, int>).Details);
        Assert.Equal(3 * Unsafe.SizeOf<nint>(), Unsafe.SizeOf<ItemOutcome<int, int>>());
        Assert.Equal(4 * Unsafe.SizeOf<nint>(), Unsafe.SizeOf<ItemOutcome<string, string>>());
    }

    /// <summary>The outcomes in source order.</summary>
    private static async Task<ItemOutcome<int, int>[]> RunAsync(
        bool asStream, TestSource source, Func<int, CancellationToken, ValueTask<int>> selector, ParallelRunOptions options) =>
        asStream
            ? await OperatorRunner.GatherOutcomesAsync(source.OutcomesStream(selector, options)).WithinAsync()
            : await source.OutcomesAsync(selector, options).WithinAsync();
}
