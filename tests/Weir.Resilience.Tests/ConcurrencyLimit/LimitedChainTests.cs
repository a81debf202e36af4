namespace Weir.Resilience.Tests.ConcurrencyLimit;

/// <summary>The limit in a chain: where it comes, what waits there, and that every place comes back.</summary>
public sealed class LimitedChainTests : IDisposable
{
    private const int Timeout = 90_000;

    private readonly ManualTimeProvider _time = new();
    private readonly SharedConcurrencyLimit _limit = new(1);
    private readonly Gate _gate = new();

    public void Dispose() => _gate.Dispose();

    [Fact(Timeout = Timeout)]
    public async Task Execute_TwoChainsOneLimit_OneCallAtATime()
    {
        PolicyChain<int> one = new(new PolicyChainOptions<int> { ConcurrencyLimit = _limit });
        PolicyChain<int> two = new(new PolicyChainOptions<int> { ConcurrencyLimit = _limit, Retry = new RetryOptions() });
        ConcurrencyProbe probe = new();
        async ValueTask<int> CallAsync(CancellationToken token)
        {
            using (probe.Enter())
            {
                await _gate.WaitAsync(token);
                return 1;
            }
        }

        Task<int>[] calls = [.. Enumerable.Range(0, 6).Select(i => (i % 2 == 0 ? one : two).ExecuteAsync(CallAsync).AsTask())];
        await probe.InsideAsync(1);
        Assert.Equal(5, _limit.Waiting);
        _gate.Open();
        await Task.WhenAll(calls).WithinAsync("all calls");
        Assert.Equal(1, probe.Most);
        Assert.Equal((0, 0), (_limit.InUse, _limit.Waiting));
    }

    [Fact(Timeout = Timeout)]
    public async Task Execute_CircuitOpensWhileCallsWait_TheyAreRejectedAndHoldNothing()
    {
        CircuitBreaker breaker = new(new CircuitBreakerOptions { FailureThreshold = 1, TimeProvider = _time });
        PolicyChain<int> chain = new(new PolicyChainOptions<int> { ConcurrencyLimit = _limit, CircuitBreaker = breaker, TimeProvider = _time });
        Task<int> failing = chain.ExecuteAsync(async token =>
        {
            await _gate.WaitAsync(token);
            throw new TestException("down");
        }).AsTask();
        Task<int>[] waiting = [.. Enumerable.Range(0, 3).Select(_ => chain.ExecuteAsync(static _ => new ValueTask<int>(1)).AsTask())];
        Assert.Equal(3, _limit.Waiting);
        _gate.Open();
        await Assert.ThrowsAsync<TestException>(() => failing.WithinAsync());
        foreach (Task<int> call in waiting)
        {
            await Assert.ThrowsAsync<CircuitBreakerOpenException>(() => call.WithinAsync());
        }

        // An open circuit rejects at once: nobody queues only to hear of it.
        Assert.True(_limit.TryEnter());
        await Assert.ThrowsAsync<CircuitBreakerOpenException>(() => chain.ExecuteAsync(static _ => new ValueTask<int>(1)).AsTask());
        _limit.Leave();
        Assert.Equal((0, 0), (_limit.InUse, _limit.Waiting));
    }

    [Fact(Timeout = Timeout)]
    public async Task Execute_WaitsForTheCircuit_HoldsNoPlaceMeanwhile()
    {
        CircuitBreaker breaker = Breaker();
        PolicyChain<int> chain = new(new PolicyChainOptions<int>
        {
            ConcurrencyLimit = _limit, CircuitBreaker = breaker, OpenCircuitMode = OpenCircuitMode.WaitForHalfOpen, TimeProvider = _time,
        });
        Assert.True(_limit.TryEnter());
        Task<int> call = chain.ExecuteAsync(static _ => new ValueTask<int>(1)).AsTask();
        Assert.Equal(1, _limit.Waiting);
        Assert.True(breaker.TryEnter(out CircuitTicket ticket));
        breaker.Failed(ticket);
        _limit.Leave();
        await Guard.UntilAsync(() => _limit.InUse == 0 && _time.ArmedTimers > 0, "a call that waits for the circuit");
        _time.Advance(TimeSpan.FromSeconds(5));
        Assert.Equal(1, await call.WithinAsync());
        Assert.Equal(CircuitBreakerState.Closed, breaker.State);
        Assert.Equal(0, _limit.InUse);
    }

    [Fact(Timeout = Timeout)]
    public async Task Execute_HalfOpen_AProbeThatWaitsForAPlaceKeepsNoOtherFromProbing()
    {
        CircuitBreaker breaker = Breaker();
        Assert.True(breaker.TryEnter(out CircuitTicket ticket));
        breaker.Failed(ticket);
        _time.Advance(TimeSpan.FromSeconds(5));
        Assert.True(_limit.TryEnter());
        PolicyChain<int> chain = new(new PolicyChainOptions<int> { ConcurrencyLimit = _limit, CircuitBreaker = breaker, TimeProvider = _time });
        Task<int> call = chain.ExecuteAsync(static _ => new ValueTask<int>(1)).AsTask();
        Assert.Equal(1, _limit.Waiting);
        Assert.True(breaker.TryEnter(out ticket));
        breaker.Succeeded(ticket);
        _limit.Leave();
        Assert.Equal(1, await call.WithinAsync());
    }

    [Fact(Timeout = Timeout)]
    public async Task Execute_AttemptThatIgnoresItsToken_ReturnsThePlaceAtTheLimit()
    {
        PolicyChain<int> chain = new(new PolicyChainOptions<int> { ConcurrencyLimit = _limit, AttemptTimeout = TimeSpan.FromSeconds(1), TimeProvider = _time });
        Task<int> call = chain.ExecuteAsync(async _ =>
        {
            await _gate.WaitAsync(CancellationToken.None);
            return 1;
        }).AsTask();
        Assert.Equal(1, _limit.InUse);
        _time.Advance(TimeSpan.FromSeconds(2));
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => call.WithinAsync());
        Assert.Equal(0, _limit.InUse);
        _gate.Open();
        await Guard.SettleAsync();
        Assert.Equal(0, _limit.InUse);
    }

    [Fact(Timeout = Timeout)]
    public async Task Execute_CallThatOutlivesTheTotalTimeout_ReturnsThePlaceOnce()
    {
        PolicyChain<int> chain = new(new PolicyChainOptions<int> { ConcurrencyLimit = _limit, TotalTimeout = TimeSpan.FromSeconds(1), TimeProvider = _time });
        Gate ended = new();
        Task<int> call = chain.ExecuteAsync(async _ =>
        {
            await _gate.WaitAsync(CancellationToken.None);
            ended.Open();
            return 1;
        }).AsTask();
        Assert.Equal(1, _limit.InUse);
        _time.Advance(TimeSpan.FromSeconds(2));
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => call.WithinAsync());
        await Guard.UntilAsync(() => _limit.InUse == 0, "the place of a call that was given up");
        _gate.Open();
        await ended.WaitAsync();
        await Guard.SettleAsync();
        Assert.Equal(0, _limit.InUse);
        Assert.Equal(5, await chain.ExecuteAsync(static _ => new ValueTask<int>(5)));
    }

    [Fact(Timeout = Timeout)]
    public async Task Execute_CancelledWhileItWaits_LeavesTheQueue()
    {
        PolicyChain<int> chain = new(new PolicyChainOptions<int>
        {
            ConcurrencyLimit = _limit,
            TotalTimeout = TimeSpan.FromMinutes(1),
            Retry = new RetryOptions { IsTransient = static _ => true },
        });
        Assert.True(_limit.TryEnter());
        using CancellationTokenSource cancelling = new();
        Task<int> call = chain.ExecuteAsync(static _ => new ValueTask<int>(1), cancelling.Token).AsTask();
        Assert.Equal(1, _limit.Waiting);
        await cancelling.CancelAsync();
        OperationCanceledException error = await Assert.ThrowsAnyAsync<OperationCanceledException>(() => call.WithinAsync());
        Assert.Equal(cancelling.Token, error.CancellationToken);
        Assert.Equal((1, 0), (_limit.InUse, _limit.Waiting));
    }

    [Fact(Timeout = Timeout)]
    public async Task Execute_WaitsForARetry_HoldsNoPlace()
    {
        int calls = 0;
        PolicyChain<int> chain = new(new PolicyChainOptions<int>
        {
            ConcurrencyLimit = _limit, Retry = new RetryOptions
            {
                MaxRetries = 1,
                IsTransient = static _ => true,
                BaseDelay = TimeSpan.FromSeconds(1),
            }, TimeProvider = _time,
        });
        Task<int> call = chain.ExecuteAsync(_ => calls++ == 0 ? throw new TestException("once") : new ValueTask<int>(3)).AsTask();
        await Guard.UntilAsync(() => _time.ArmedTimers > 0, "the delay");
        Assert.Equal(0, _limit.InUse);
        _time.Advance(TimeSpan.FromSeconds(1));
        Assert.Equal(3, await call.WithinAsync());
        Assert.Equal(0, _limit.InUse);
    }

    [Fact(Timeout = Timeout)]
    public async Task Execute_RateLimitFails_ReturnsThePlace()
    {
        PolicyChain<int> chain = new(new PolicyChainOptions<int> { ConcurrencyLimit = _limit, RateLimit = RateLimitOptions.Shared(new Faulty()) });
        for (int kind = 0; kind < 6; kind++)
        {
            await Assert.ThrowsAsync<TestException>(() => chain.ExecuteAsync(static _ => new ValueTask<int>(1)).AsTask().WithinAsync());
            Assert.Equal(0, _limit.InUse);
        }
    }

    private CircuitBreaker Breaker() => new(new CircuitBreakerOptions
    {
        FailureThreshold = 1,
        SuccessThreshold = 1,
        OpenTimeout = TimeSpan.FromSeconds(5),
        TimeProvider = _time,
    });

    /// <summary>Throws at once, later, and when the lease is returned, in turns.</summary>
    private sealed class Faulty : IRateLimit, IDisposable
    {
        private int _calls;

        public ValueTask<IDisposable?> EnterAsync(CancellationToken cancellationToken) => (_calls++ % 3) switch
        {
            0 => throw new TestException("at once"),
            1 => LaterAsync(),
            _ => new ValueTask<IDisposable?>(this),
        };

        public void Dispose() => throw new TestException("lease");

        private static async ValueTask<IDisposable?> LaterAsync()
        {
            await Task.Yield();
            throw new TestException("later");
        }
    }
}
