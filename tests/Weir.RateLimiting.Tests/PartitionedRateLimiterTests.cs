using System.Threading.RateLimiting;
using Weir.Resilience;

namespace Weir.RateLimiting.Tests;

public class PartitionedRateLimiterTests
{
    [Fact(Timeout = 90_000)]
    public async Task ToRateLimits_ChainForAnItem_TakesThePermitsOfItsPartition()
    {
        await using PartitionedRateLimiter<Uri> limiter = PartitionedRateLimiter.Create<Uri, string>(static uri =>
            RateLimitPartition.GetConcurrencyLimiter(uri.Host, static _ => new ConcurrencyLimiterOptions { PermitLimit = 1, QueueLimit = 0 }));
        PolicyChain chain = new(new PolicyChainOptions { RateLimit = limiter.ToRateLimits() });
        CancellationToken token = TestContext.Current.CancellationToken;
        Uri one = new("http://one");
        TaskCompletionSource<int> end = new();
        ValueTask<int> first = chain.For(one).ExecuteAsync(_ => end.Task, token);
        await Assert.ThrowsAsync<RateLimitRejectedException>(async () => await chain.For(new Uri("http://one/b")).ExecuteAsync(_ => 2, token));
        Assert.Equal(3, await chain.For(new Uri("http://two")).ExecuteAsync(_ => 3, token));
        end.SetResult(1);
        Assert.Equal(1, await first);
        PolicyChain kept = chain.For(one);
        Assert.Equal(4, await kept.ExecuteAsync(_ => 4, token));
        Assert.Equal(5, await kept.ExecuteAsync(_ => 5, token));
        Assert.Throws<ArgumentOutOfRangeException>("permits", () => limiter.ToRateLimits(0));
    }
}
