using System.Collections.Concurrent;
using Weir.Resilience;
using Weir.Runtimes;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Policies;

/// <summary>Is an attempt repeated because of its result, and is the last result given whatever it is?</summary>
public class ResultRetryTests
{
    private static readonly TimeSpan Second = TimeSpan.FromSeconds(1);

    private static readonly OperatorFamily[] WithResults = [.. Cases.Families.Except([OperatorFamily.ForEach])];

    public static MatrixTheoryData<OperatorFamily, SourceKind, bool> AnyFamilyKindAndWork() => new(WithResults, Cases.Kinds, [false, true]);

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(AnyFamilyKindAndWork))]
    public async Task ShouldRetry_OfRefusedResults_RepeatsThemAndGivesTheLast(OperatorFamily family, SourceKind kind, bool yields)
    {
        foreach (int limit in new[] { 1, 3, 200 })
        {
            int[] calls = new int[60];
            ConcurrentQueue<(int Index, int Attempt, int? Refused)> retried = [];
            Task<List<int>> running = family.RunAsync(
                TestSource.Of(kind, 60),
                async (item, _) =>
                {
                    int call = Interlocked.Increment(ref calls[item]);
                    if (yields)
                    {
                        await Task.Yield();
                    }

                    // A result says which call it is of.
                    return item % 4 == 3 && call == 1 ? throw new TestException("first") : (item * 10) + call;
                },
                new()
                {
                    MaxDegreeOfParallelism = limit,
                    MaxRetries = 2,
                    BaseDelay = TimeSpan.Zero,
                    OnRetryAsync = (index, attempt, error) =>
                    {
                        retried.Enqueue((index, attempt, (int?)(error as ResultRejectedException)?.Result));
                        return default;
                    },
                    ShouldRetry = RetryRule.Of<int>(static outcome => !outcome.HasResult || (outcome.Result / 10 % 4) switch
                    {
                        0 => false,
                        1 => outcome.Attempt == 1,
                        2 => true,
                        _ => false,
                    }),
                });
            int[] expectedCalls = [1, 2, 3, 2];
            List<int> results = await running.WithinAsync();
            Assert.Equal(Enumerable.Range(0, 60).Select(i => (i * 10) + expectedCalls[i % 4]), results.Order());
            Assert.All(calls.Index(), c => Assert.Equal(expectedCalls[c.Index % 4], c.Item));
            Assert.All(Enumerable.Range(0, 60), i => Assert.Equal(
                Enumerable.Range(1, expectedCalls[i % 4] - 1).Select(a => (i, a, i % 4 == 3 ? null : (int?)((i * 10) + a))),
                retried.Where(r => r.Index == i)));
        }
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task ShouldRetry_SeesTheItemTheAttemptAndBothKindsOfEnd()
    {
        ConcurrentQueue<(string Item, int Attempt, int? Result, string? Error)> seen = [];
        int calls = 0;
        List<int> results = await new[] { "a" }.SelectParallelAsync(
            (_, _) => Interlocked.Increment(ref calls) == 2 ? throw new TestException("second") : new ValueTask<int>(calls),
            new ParallelRunOptions
            {
                MaxRetries = 5,
                BaseDelay = TimeSpan.Zero,
                ShouldRetry = RetryRule.Of<string, int>((item, outcome) =>
                {
                    seen.Enqueue((item, outcome.Attempt, outcome.HasResult ? outcome.Result : null, outcome.Exception?.Message));
                    return outcome.Attempt < 3;
                }),
            }).WithinAsync();
        Assert.Equal([3], results);
        Assert.Equal([("a", 1, 1, null), ("a", 2, null, "second"), ("a", 3, (int?)3, (string?)null)], seen);
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task DelayHint_OfAResult_IsTheDelay()
    {
        ManualTimeProvider clock = new();
        int calls = 0;
        Task<List<int>> running = new[] { 0 }.SelectParallelAsync(
            (_, _) => new ValueTask<int>(Interlocked.Increment(ref calls)),
            new ParallelRunOptions
            {
                Retry = new() { MaxRetries = 3, MaxDelay = 10 * Second },
                TimeProvider = clock,
                ShouldRetry = RetryRule.Of<int>(
                    static outcome => outcome.Result < 3, static outcome => outcome.Result == 1 ? 7 * Second : TimeSpan.FromHours(1)),
            });
        await Guard.UntilAsync(() => clock.NextDue == 7 * Second, "the wait that the first result asks for");
        clock.Advance(7 * Second);
        await Guard.UntilAsync(() => clock.NextDue == 17 * Second, "the wait that the second result asks for, at most the longest");
        clock.Advance(10 * Second);
        Assert.Equal([3], await running.WithinAsync());
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task RefusedResults_ThatAreDisposable_AreDisposedOf()
    {
        ConcurrentQueue<Answer> made = [];
        List<Answer> results = await new[] { 0, 1 }.SelectParallelAsync(
            (item, _) =>
            {
                Answer answer = new(item);
                made.Enqueue(answer);
                return new ValueTask<Answer>(answer);
            },
            new ParallelRunOptions
            {
                MaxRetries = 2,
                BaseDelay = TimeSpan.Zero,
                ShouldRetry = RetryRule.Of<Answer>(static o => o.Result?.Item == 1),
            }).WithinAsync();
        Assert.Equal(4, made.Count);
        Assert.All(results, static a => Assert.False(a.IsDisposed));
        Assert.All(made.Except(results), static a => Assert.True(a.IsDisposed));
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task ShouldRetry_Throws_FailsTheItemAndRepeatsNothing()
    {
        foreach (bool afterResult in new[] { true, false })
        {
            int calls = 0;
            ItemOutcome<int, int>[] outcomes = await new[] { 0 }.SelectParallelOutcomesAsync(
                (_, _) =>
                {
                    Interlocked.Increment(ref calls);
                    return afterResult ? new ValueTask<int>(1) : throw new TimeoutException();
                },
                new ParallelRunOptions { MaxRetries = 3, ShouldRetry = RetryRule.Of<int>(static _ => throw new TestException("rule")) }).WithinAsync();
            Assert.Equal((1, "rule"), (calls, outcomes[0].Error?.Message));
        }
    }

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task ShouldRetry_InAnyPolicies_CountsCallsAndLeavesTheCircuitClosed(bool withKeys)
    {
        CircuitBreaker breaker = new(new CircuitBreakerOptions { FailureThreshold = 2 });
        ItemOutcome<int, int>[] outcomes = await Enumerable.Range(0, 20).SelectParallelOutcomesAsync(
            static async (x, _) =>
            {
                await Task.Yield();
                return x;
            },
            new ParallelRunOptions
            {
                MaxDegreeOfParallelism = 4,
                MaxRetries = 2,
                BaseDelay = TimeSpan.Zero,
                CircuitBreaker = breaker,
                ConcurrencyLimit = new SharedConcurrencyLimit(2),
                RateLimit = withKeys
                    ? RateLimits.ByKey(static (int x) => x % 3, new RateLimitOptions { TokensPerSecond = 1_000_000, BurstCapacity = 1_000 })
                    : null,
                AttemptTimeout = TimeSpan.FromMinutes(1),
                PerItemTimeout = TimeSpan.FromMinutes(1),
                Output = new() { IncludeDetails = true },
                ShouldRetry = RetryRule.Of<int>(static o => o.Result % 2 == 0),
            }).WithinAsync();
        Assert.All(outcomes.Index(), static o => Assert.Equal(
            (ItemStatus.Succeeded, o.Index, o.Index % 2 == 0 ? 3 : 1), (o.Item.Status, o.Item.Value, o.Item.Details!.Attempts)));
        Assert.Equal(CircuitBreakerState.Closed, breaker.State);
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task RefusedResult_WhoseItemsTimeIsUp_IsTimedOut()
    {
        ManualTimeProvider clock = new();
        Task<ItemOutcome<int, int>[]> running = new[] { 0 }.SelectParallelOutcomesAsync(
            static (x, _) => new ValueTask<int>(x),
            new ParallelRunOptions
            {
                MaxRetries = 1,
                BaseDelay = 5 * Second,
                BackoffStrategy = BackoffStrategy.Exponential,
                PerItemTimeout = Second,
                TimeProvider = clock,
                ShouldRetry = RetryRule.Of<int>(static _ => true),
            });
        await clock.DriveAsync(running, 0.1 * Second);
        Assert.Equal(ItemStatus.TimedOut, (await running)[0].Status);
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task RefusedResult_WhoseRunIsCancelled_IsNotRepeated()
    {
        ManualTimeProvider clock = new();
        using CancellationTokenSource caller = new();
        Task<ItemOutcome<int, int>[]> running = new[] { 0 }.SelectParallelOutcomesAsync(
            static (x, _) => new ValueTask<int>(x),
            new ParallelRunOptions
            {
                MaxRetries = 1,
                BaseDelay = Second,
                TimeProvider = clock,
                Output = new() { ReturnOutcomesOnCancellation = true },
                ShouldRetry = RetryRule.Of<int>(static _ => true),
            },
            caller.Token);
        await Guard.UntilAsync(() => clock.NextDue is not null, "the wait for the second attempt");
        await caller.CancelAsync();
        Assert.Equal(ItemStatus.Cancelled, (await running.WithinAsync())[0].Status);
    }

    [Fact]
    public void ShouldRetry_WrongValues_AreRefusedAtTheCallByName()
    {
        RetryRule rule = RetryRule.Of<string>(static _ => true);
        Assert.Throws<ArgumentException>(
            "ShouldRetry", () => { _ = new[] { 1 }.SelectParallelAsync(Selectors.Twice, new() { MaxRetries = 1, ShouldRetry = rule }); });
        RetryRule ofItem = RetryRule.Of<string, int>(static (_, _) => true);
        Assert.Throws<ArgumentException>(
            "ShouldRetry", () => { _ = new[] { 1 }.SelectParallelAsync(Selectors.Twice, new() { MaxRetries = 1, ShouldRetry = ofItem }); });
        Assert.Throws<ArgumentException>(
            "ShouldRetry", () => { _ = new[] { 1 }.ForEachParallelAsync(static (_, _) => default(ValueTask), new() { MaxRetries = 1, ShouldRetry = rule }); });
        ParallelRunOptions both = new() { MaxRetries = 1, ShouldRetry = RetryRule.Of<int>(static _ => true), IsTransient = _ => true };
        Assert.Throws<ArgumentException>("ShouldRetry", () => { _ = new[] { 1 }.SelectParallelAsync(Selectors.Twice, both); });
    }

    [Fact(Timeout = 90_000)]
    public async Task ShouldRetry_WithoutRetries_IsRefusedAtTheCallUnlessThereAreNoneOnPurpose()
    {
        ParallelRunOptions options = new() { ShouldRetry = RetryRule.Of<int>(static _ => true) };
        Assert.Equal(
            "ShouldRetry is set, which needs Retry; set that too, such as Retry = new() { MaxRetries = 3 }. (Parameter 'ShouldRetry')",
            Assert.Throws<ArgumentException>("ShouldRetry", () => { _ = new[] { 1 }.SelectParallelAsync(Selectors.Twice, options); }).Message);
        await using ConcurrentRuntime runtime = new();
        Assert.Throws<ArgumentException>("ShouldRetry", () => { _ = runtime.ProcessManyAsync([1], Selectors.Twice, new() { Policies = options }); });
        Assert.Equal([2], await new[] { 1 }.SelectParallelAsync(Selectors.Twice, options with { Retry = new() { MaxRetries = 0 } }));
    }

    private sealed class Answer(int item) : IDisposable
    {
        public int Item => item;

        public bool IsDisposed { get; private set; }

        public void Dispose() => IsDisposed = true;
    }
}
