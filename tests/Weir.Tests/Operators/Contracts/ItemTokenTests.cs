using Weir.Resilience;
using Weir.Runtimes;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Operators.Contracts;

/// <summary>Is an item's token its own? What an item leaves behind that still holds it must not feel another item's time limit.</summary>
public class ItemTokenTests
{
    private const int Last = 9;
    private static readonly TimeSpan Limit = TimeSpan.FromMinutes(1);

    public static TheoryData<string> Kinds() => ["item", "attempt", "attempt in policies", "both", "concurrent", "parallel", "auto", "direct"];

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
            "concurrent" => new ConcurrentRuntime(1, clock).ProcessManyAsync(items, call, limit, cancellationToken),
            "parallel" => new ParallelRuntime(1, clock).ProcessManyAsync(items, call, limit, cancellationToken),
            "auto" => new AutoRuntime(1, 1, clock).ProcessManyAsync(items, call, limit, cancellationToken),
            _ => new DirectRuntime(clock).ProcessManyAsync(items, call, limit, cancellationToken),
        };
    }
}
