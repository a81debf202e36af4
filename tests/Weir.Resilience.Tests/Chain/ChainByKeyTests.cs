namespace Weir.Resilience.Tests.Chain;

/// <summary>Policies by key around single calls.</summary>
public class ChainByKeyTests
{
    private const int Timeout = 90_000;
    private static readonly Uri Up = new("http://well/a");
    private static readonly Uri Down = new("http://down/a");

    private readonly CircuitBreakers<string> _hosts =
        Resilience.CircuitBreakers.ByKey<Uri, string>(static uri => uri.Host, new CircuitBreakerOptions { FailureThreshold = 1 });

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact(Timeout = Timeout)]
    public async Task Host_IsDown_StopsItsCallsAndNoOthers()
    {
        PolicyChain chain = new(new PolicyChainOptions { CircuitBreaker = _hosts });
        await Assert.ThrowsAsync<IOException>(async () => await chain.For(Down).ExecuteAsync(Fail, Token));
        await Assert.ThrowsAsync<CircuitBreakerOpenException>(async () => await chain.For(new Uri("http://down/b")).ExecuteAsync(t => 1, Token));
        Assert.Equal(1, await chain.For(Up).ExecuteAsync(t => 1, Token));

        Assert.Equal(["down", "well"], _hosts.GetAll().Select(static p => p.Key).Order());
        Assert.Equal(CircuitBreakerState.Open, _hosts.Get("down").State);
        _hosts.Get("down").Close();
        Assert.Equal(2, await chain.For(Down).ExecuteAsync(async t => { await Task.Yield(); return 2; }, Token));
    }

    [Fact(Timeout = Timeout)]
    public async Task ChainOfResult_KeptForAnItem_FollowsTheKeysCircuit()
    {
        PolicyChain<int> chain = new PolicyChain<int>(new PolicyChainOptions<int>
        {
            CircuitBreaker = _hosts,
            Fallback = new() { Handler = static (e, _) => new(e is CircuitBreakerOpenException ? -1 : -2) },
        }).For(Up);
        Assert.Equal(1, await chain.ExecuteAsync(t => 1, Token));
        _hosts.Get("well").Isolate();
        Assert.Equal(-1, await chain.ExecuteAsync(t => 1, Token));
        for (int i = 0; i < 5_000; i++)
        {
            _hosts.Get("host" + i);
        }

        Assert.True(_hosts.Count < 2_500);
        Assert.Equal(-1, await chain.ExecuteAsync(t => 1, Token));
        _hosts.Get("well").Close();
        for (int i = 0; i < 5_000; i++)
        {
            _hosts.Get("host" + i);
        }

        // It was forgotten, and there is a new one.
        _hosts.Get("well").Isolate();
        Assert.Equal(-1, await chain.ExecuteAsync(t => 1, Token));
    }

    [Fact(Timeout = Timeout)]
    public async Task Limits_ByKey_HoldForTheirKeysAlone()
    {
        PolicyChain chain = new(new PolicyChainOptions
        {
            ConcurrencyLimit = ConcurrencyLimits.ByKey<Uri, string>(static uri => uri.Host, 1, maxWaiting: 0),
            RateLimit = RateLimits.ByKey<Uri, string>(static uri => uri.Host, new RateLimitOptions { TokensPerSecond = 1e6, BurstCapacity = 1e6 }),
        });
        TaskCompletionSource<int> end = new();
        ValueTask<int> first = chain.For(Up).ExecuteAsync(_ => end.Task, Token);
        await Assert.ThrowsAsync<ConcurrencyLimitRejectedException>(async () => await chain.For(Up).ExecuteAsync(_ => 2, Token));
        Assert.Equal(3, await chain.For(Down).ExecuteAsync(_ => 3, Token));
        end.SetResult(1);
        Assert.Equal(1, await first);
        Assert.Equal(4, await chain.For(Up).ExecuteAsync(_ => 4, Token));
    }

    [Fact(Timeout = Timeout)]
    public async Task Limits_LookedUpByKey_AreThoseOfTheCalls()
    {
        ManualTimeProvider clock = new();
        RateLimitOptions oneASecond = new() { TokensPerSecond = 1, BurstCapacity = 1, TimeProvider = clock };
        ConcurrencyLimits<string> places = ConcurrencyLimits.ByKey<Uri, string>(static uri => uri.Host, 1);
        RateLimits<string> rates = RateLimits.ByKey<Uri, string>(static uri => uri.Host, oneASecond, StringComparer.OrdinalIgnoreCase);
        PolicyChain chain = new(new PolicyChainOptions { ConcurrencyLimit = places, RateLimit = rates });
        TaskCompletionSource<int> end = new();
        ValueTask<int> first = chain.For(Up).ExecuteAsync(_ => end.Task, Token);
        ValueTask<int> second = chain.For(Up).ExecuteAsync(_ => 2, Token);

        Assert.Equal((1, 1), (places.Get("well").InUse, places.Get("well").Waiting));
        Assert.Equal((TimeSpan.FromSeconds(1), 0), (rates.Get("WELL").RetryAfter, rates.Get("WELL").Waiting));
        Assert.Equal((0, TimeSpan.Zero), (places.Get("down").InUse, rates.Get("down").RetryAfter));
        Assert.Equal([("down", 0), ("well", 1)], places.GetAll().Select(static p => (p.Key, p.Value.InUse)).Order());
        Assert.Equal([("down", false), ("well", true)], rates.GetAll().Select(static p => (p.Key, p.Value.RetryAfter > TimeSpan.Zero)).Order());
        Assert.Equal((2, 2), (places.Count, rates.Count));

        // One who asks the bucket itself waits in the queue of the calls.
        ValueTask asked = rates.Get("well").WaitAsync(Token);
        Assert.Equal(1, rates.Get("well").Waiting);
        clock.Advance(TimeSpan.FromSeconds(1));
        await asked;
        Assert.Equal(0, rates.Get("well").Waiting);

        // The second call gets the place that the raised limit has, while the first is still under way, and its token.
        clock.Advance(TimeSpan.FromSeconds(1));
        places.Get("well").Limit = 2;
        Assert.Equal(2, await second);
        end.SetResult(1);
        Assert.Equal(1, await first);
        Assert.Equal(0, places.Get("well").InUse);
    }

    [Fact]
    public void LookUp_WithoutAKey_IsRefusedByName()
    {
        Assert.Throws<ArgumentNullException>("key", () => _hosts.Get(null!));
        Assert.Throws<ArgumentNullException>("key", () => ConcurrencyLimits.ByKey<Uri, string>(static uri => uri.Host, 1).Get(null!));
        Assert.Throws<ArgumentNullException>("key", () => RateLimits.ByKey<Uri, string>(static uri => uri.Host).Get(null!));
    }

    [Fact(Timeout = Timeout)]
    public async Task Key_CannotBeHad_FailsTheCallOrTheLookUp()
    {
        PolicyChain chain = new(new PolicyChainOptions
        {
            CircuitBreaker = Resilience.CircuitBreakers.ByKey<string, string>(static s => throw new FormatException()),
        });
        await Assert.ThrowsAsync<FormatException>(async () => await chain.For("x").ExecuteAsync(_ => 1, Token));
        Assert.Throws<ArgumentException>(() => chain.For(1));
        Assert.Throws<InvalidOperationException>(() => chain.For("x").For("y"));
        Assert.Throws<InvalidOperationException>(() => new PolicyChain(new PolicyChainOptions()).For("x"));
        await Assert.ThrowsAsync<InvalidOperationException>(async () => await chain.ExecuteAsync(_ => 1, Token));
    }

    private static int Fail(CancellationToken token) => throw new IOException();
}
