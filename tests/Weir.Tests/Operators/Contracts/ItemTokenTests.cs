using Weir.Resilience;
using Weir.Runtimes;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Operators.Contracts;

/// <summary>Is an item's token its own? What an item leaves behind that still holds it must not feel another item's time limit.</summary>
public class ItemTokenTests
{
    private const int Last = 9;
    private static readonly TimeSpan Limit = TimeSpan.FromMinutes(1);

    public static TheoryData<string> Kinds() =>
        ["item", "attempt", "attempt in policies", "both", "both, item first", "own limit", "concurrent", "parallel", "auto", "direct"];

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Kinds))]
    public async Task Token_OfAnEndedItem_IsNotCancelledByALaterItemsLimit(string kind)
    {
        ManualTimeProvider clock = new();
        CancellationToken[] tokens = new CancellationToken[Last + 1];
        int told = 0;
        TaskCompletionSource atLast = new(TaskCreationOptions.RunContinuationsAsynchronously);
        Task<ItemOutcome<int, int>[]> running = Run(
            kind,
            clock,
            async (item, token) =>
            {
                tokens[item] = token;
                token.Register(() => Interlocked.Increment(ref told));
                if (item % 2 == 1)
                {
                    await Task.Yield();
                }

                if (item == Last)
                {
                    atLast.SetResult();
                    await Task.Delay(System.Threading.Timeout.InfiniteTimeSpan, TimeProvider.System, token);
                }

                return item;
            });

        await atLast.Task.WithinAsync();
        await clock.AdvanceUntilAsync(running, Limit);
        ItemOutcome<int, int>[] outcomes = await running.WithinAsync();
        Assert.False(outcomes[Last].IsSuccess);
        Assert.All(outcomes[..Last], static outcome => Assert.True(outcome.IsSuccess));
        await Guard.UntilAsync(() => tokens[Last].IsCancellationRequested && Volatile.Read(ref told) > 0, "the cancelled token");
        await Guard.SettleAsync();
        Assert.Equal(1, told);
        Assert.All(tokens[..Last], static token => Assert.False(token.IsCancellationRequested));
    }

    /// <summary>As that of a run without limits is.</summary>
    [Theory(Timeout = Selectors.Timeout)]
    [InlineData("item")]
    [InlineData("attempt")]
    [InlineData("concurrent")]
    [InlineData("parallel")]
    [InlineData("auto")]
    public async Task Token_OfAnEndedItem_IsCancelledWhenTheRunIs(string kind)
    {
        using CancellationTokenSource stop = new();
        CancellationToken[] tokens = new CancellationToken[Last + 1];
        TaskCompletionSource atLast = new(TaskCreationOptions.RunContinuationsAsynchronously);
        Task<ItemOutcome<int, int>[]> running = Run(
            kind,
            TimeProvider.System,
            async (item, token) =>
            {
                tokens[item] = token;
                if (item == Last)
                {
                    atLast.SetResult();
                    await Task.Delay(System.Threading.Timeout.InfiniteTimeSpan, TimeProvider.System, token);
                }

                return item;
            },
            stop.Token);

        await atLast.Task.WithinAsync();
        Assert.All(tokens, static token => Assert.False(token.IsCancellationRequested));
        await stop.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => running.WithinAsync());
        Assert.All(tokens, static token => Assert.True(token.IsCancellationRequested));
    }

    /// <summary>A time limit that has passed is not felt by the next item, though the two may have had the same token up to then.</summary>
    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Token_AfterAnItemThatTimedOut_IsANewOne(bool blocks)
    {
        ManualTimeProvider clock = new();
        using ManualResetEventSlim over = new();
        TaskCompletionSource atSecond = new(TaskCreationOptions.RunContinuationsAsynchronously);
        Task<ItemOutcome<int, int>[]> running = Run(
            "both, item first",
            clock,
            async (item, token) =>
            {
                Assert.False(token.IsCancellationRequested);
                if (item == 1)
                {
                    atSecond.SetResult();
                    if (blocks)
                    {
                        over.Wait(CancellationToken.None);
                    }

                    await Task.Delay(System.Threading.Timeout.InfiniteTimeSpan, TimeProvider.System, token);
                }

                return item;
            });
        await atSecond.Task.WithinAsync();
        await clock.AdvanceUntilAsync(running, Limit);
        ItemOutcome<int, int>[] outcomes = await running.WithinAsync();
        over.Set();
        Assert.Equal([1], Enumerable.Range(0, outcomes.Length).Where(item => !outcomes[item].IsSuccess));
    }

    private static Task<ItemOutcome<int, int>[]> Run(
        string kind, TimeProvider time, Func<int, CancellationToken, ValueTask<int>> call, CancellationToken cancellationToken = default)
    {
        int[] items = [.. Enumerable.Range(0, Last + 1)];
        ParallelRunOptions one = new() { MaxDegreeOfParallelism = 1, TimeProvider = time };
        RuntimeOptions clock = new() { TimeProvider = time };
        ProcessManyOptions limit = new() { PerItemTimeout = Limit };
        return kind switch
        {
            "item" => items.SelectParallelOutcomesAsync(call, one with { PerItemTimeout = Limit }, cancellationToken),
            "attempt" => items.SelectParallelOutcomesAsync(call, one with { AttemptTimeout = Limit }, cancellationToken),
            "attempt in policies" => items.SelectParallelOutcomesAsync(
                call, one with { AttemptTimeout = Limit, CircuitBreaker = new CircuitBreakerOptions() }, cancellationToken),
            "both" => items.SelectParallelOutcomesAsync(
                call, one with { AttemptTimeout = Limit, PerItemTimeout = 2 * Limit, CircuitBreaker = new CircuitBreakerOptions() }, cancellationToken),
            "both, item first" => items.SelectParallelOutcomesAsync(
                call, one with { AttemptTimeout = 2 * Limit, PerItemTimeout = Limit, CircuitBreaker = new CircuitBreakerOptions() }, cancellationToken),
            "own limit" => items.SelectParallelOutcomesAsync(
                static (item, _) => new ValueTask<int>(item),
                one with { AttemptTimeout = 2 * Limit, PerItemTimeout = Limit, RateLimit = RateLimitOptions.Shared(new CallAsLimit(call)) },
                cancellationToken),
            "concurrent" => new ConcurrentRuntime(1, clock).ProcessManyAsync(items, call, limit, cancellationToken),
            "parallel" => new ParallelRuntime(1, clock).ProcessManyAsync(items, call, limit, cancellationToken),
            "auto" => new AutoRuntime(1, 1, clock).ProcessManyAsync(items, call, limit, cancellationToken),
            _ => new DirectRuntime(clock).ProcessManyAsync(items, call, limit, cancellationToken),
        };
    }

    /// <summary>A rate limit of the user's, which gets the item's own token and keeps it: the call of the test, for items from 0.</summary>
    private sealed class CallAsLimit(Func<int, CancellationToken, ValueTask<int>> call) : IRateLimit
    {
        private int _items = -1;

        public async ValueTask<IDisposable?> EnterAsync(CancellationToken cancellationToken)
        {
            await call(++_items, cancellationToken);
            return null;
        }
    }
}
