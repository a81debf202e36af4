using System.Threading.RateLimiting;
using Weir.Resilience;

namespace Weir.RateLimiting.Tests;

public class RateLimiterAdapterTests
{
    [Fact(Timeout = 90_000)]
    public async Task EnterAsync_ConcurrencyLimiter_HoldsTheLeaseUntilTheCallHasEnded()
    {
        using var limiter = new ConcurrencyLimiter(new ConcurrencyLimiterOptions { PermitLimit = 1, QueueLimit = 1 });
        var chain = new PolicyChain<int>(new PolicyChainOptions<int> { RateLimit = new RateLimiterAdapter(limiter) });
        var first = new TaskCompletionSource<int>();
        bool made = false;
        Task<int> one = chain.ExecuteAsync(_ => new ValueTask<int>(first.Task)).AsTask();
        Task<int> two = chain.ExecuteAsync(_ =>
        {
            made = true;
            return new ValueTask<int>(2);
        }).AsTask();
        Assert.False(made);
        first.SetResult(1);
        int[] results = await Task.WhenAll(one, two);
        Assert.Equal([1, 2], results);
        Assert.Equal(1, limiter.GetStatistics()!.CurrentAvailablePermits);
    }

    [Fact(Timeout = 90_000)]
    public async Task EnterAsync_Refused_SaysWhenToTryAgain()
    {
        await using var limiter = new TokenBucketRateLimiter(new TokenBucketRateLimiterOptions
        {
            TokenLimit = 1,
            TokensPerPeriod = 1,
            ReplenishmentPeriod = TimeSpan.FromMinutes(5),
            AutoReplenishment = false,
            QueueLimit = 0,
        });
        var gate = new RateLimiterAdapter(limiter);
        using (await gate.EnterAsync(CancellationToken.None))
        {
            ValueTask<IDisposable?> refused = gate.EnterAsync(CancellationToken.None);
            Assert.True(refused.IsFaulted);
            RateLimitRejectedException error = await Assert.ThrowsAsync<RateLimitRejectedException>(() => refused.AsTask());
            Assert.Equal(TimeSpan.FromMinutes(5), error.RetryAfter);
        }
    }

    [Fact(Timeout = 90_000)]
    public async Task EnterAsync_EvictedFromTheQueue_IsRefused()
    {
        using var limiter =
            new ConcurrencyLimiter(new ConcurrencyLimiterOptions { PermitLimit = 1, QueueLimit = 1, QueueProcessingOrder = QueueProcessingOrder.NewestFirst });
        var gate = new RateLimiterAdapter(limiter);
        using IDisposable? held = await gate.EnterAsync(CancellationToken.None);
        Task<IDisposable?> older = gate.EnterAsync(CancellationToken.None).AsTask();
        ValueTask<IDisposable?> newer = gate.EnterAsync(CancellationToken.None);
        await Assert.ThrowsAsync<RateLimitRejectedException>(() => older);
        held!.Dispose();
        (await newer)!.Dispose();
    }

    [Fact(Timeout = 90_000)]
    public async Task EnterAsync_Cancelled_LeavesTheQueue()
    {
        using var limiter = new ConcurrencyLimiter(new ConcurrencyLimiterOptions { PermitLimit = 2, QueueLimit = 2 });
        var gate = new RateLimiterAdapter(limiter, permits: 2);
        using IDisposable? held = await gate.EnterAsync(CancellationToken.None);
        using var cancel = new CancellationTokenSource();
        ValueTask<IDisposable?> waiting = gate.EnterAsync(cancel.Token);
        await cancel.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => waiting.AsTask());
    }

    [Fact]
    public void Constructor_WrongArgument_IsNamed()
    {
        using var limiter = new ConcurrencyLimiter(new ConcurrencyLimiterOptions { PermitLimit = 1 });
        Assert.Throws<ArgumentNullException>("limiter", () => new RateLimiterAdapter(null!));
        Assert.Throws<ArgumentOutOfRangeException>("permits", () => new RateLimiterAdapter(limiter, 0));
    }
}
