namespace Weir.Resilience.Tests.Faults;

/// <summary>A call that returns a value task which somebody has awaited before, a common mistake: an attempt that failed, like any other.</summary>
public sealed class ConsumedCallTests
{
    private const int Timeout = 90_000;

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact(Timeout = Timeout)]
    public async Task Chain_CallWasAwaitedBefore_GivesItsPlaceBack()
    {
        SharedConcurrencyLimit limit = new(1);
        PolicyChain<int> chain = new(new PolicyChainOptions<int> { ConcurrencyLimit = limit });
        await Assert.ThrowsAsync<InvalidOperationException>(async () => await chain.ExecuteAsync(static _ => ConsumedCall.Start(), Token));
        Assert.Equal(0, limit.InUse);
        Assert.Equal(1, await chain.ExecuteAsync(static _ => new ValueTask<int>(1), Token).WithinAsync("the next call"));
    }

    [Theory(Timeout = Timeout)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Chain_CallWasAwaitedBefore_IsRetriedAndGetsTheFallback(bool hasTotal)
    {
        int calls = 0;
        PolicyChain<int> chain = new(new PolicyChainOptions<int>
        {
            TotalTimeout = hasTotal ? TimeSpan.FromSeconds(60) : null,
            Retry = new RetryOptions { MaxRetries = 2, BaseDelay = TimeSpan.Zero, IsTransient = static _ => true },
            Fallback = new() { Handler = static (_, _) => new(-1) },
        });
        Assert.Equal(-1, await chain.ExecuteAsync(
            _ =>
            {
                calls++;
                return ConsumedCall.Start();
            },
            Token));
        Assert.Equal(3, calls);
    }
}
