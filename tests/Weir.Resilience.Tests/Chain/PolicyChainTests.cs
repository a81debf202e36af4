using System.Collections.Concurrent;

namespace Weir.Resilience.Tests.Chain;

public class PolicyChainTests
{
    // What is transient by itself has tests of its own; here it is what the calls throw.
    private static readonly Func<Exception, bool> IsBroken = static e => e is IOException;

    private readonly ManualTimeProvider _clock = new();
    private readonly List<string> _log = [];

    [Fact(Timeout = 90_000)]
    public async Task ExecuteAsync_NoPolicies_IsTheCall()
    {
        var chain = new PolicyChain<int>(new PolicyChainOptions<int>());
        Assert.Equal(1, await chain.ExecuteAsync(static _ => new ValueTask<int>(1)));
        await Assert.ThrowsAsync<IOException>(() => chain.ExecuteAsync(static _ => throw new IOException()).AsTask());
        Assert.True(chain.ExecuteAsync(static _ => new ValueTask<int>(1), new CancellationToken(canceled: true)).IsCanceled);
    }

    [Fact(Timeout = 90_000)]
    public async Task ExecuteAsync_FailsTwice_IsRetriedAfterTheDelays()
    {
        PolicyChain<int> chain = Make(new PolicyChainOptions<int>
        {
            Retry = new RetryOptions
            {
                IsTransient = IsBroken,
                BaseDelay = Span.Ms(10),
                BackoffStrategy = BackoffStrategy.Exponential,
                OnRetryAsync = (attempt, exception) =>
                {
                    _log.Add($"{attempt} {exception.Message}");
                    return default;
                },
            },
        });
        int attempts = 0;
        Task<int> pending = chain.ExecuteAsync(_ => ++attempts < 3 ? throw new IOException("no " + attempts) : new ValueTask<int>(attempts)).AsTask();
        Assert.Equal(1, attempts);
        _clock.Advance(Span.Ms(9));
        Assert.Equal(1, attempts);
        _clock.Advance(Span.Ms(1));
        await Until.TrueAsync(() => attempts == 2 && _clock.ArmedTimers == 1);
        _clock.Advance(Span.Ms(20));
        Assert.Equal(3, await pending);
        Assert.Equal(["1 no 1", "2 no 2"], _log);
    }

    [Fact(Timeout = 90_000)]
    public async Task ExecuteAsync_RetriesUsedUp_ThrowsTheLastFailureItself()
    {
        PolicyChain<int> chain = Make(new PolicyChainOptions<int> { Retry = new RetryOptions { BaseDelay = TimeSpan.Zero, IsTransient = IsBroken } });
        int attempts = 0;
        IOException error = await Assert.ThrowsAsync<IOException>(
            () => chain.ExecuteAsync(_ => throw new IOException((++attempts).ToString(System.Globalization.CultureInfo.InvariantCulture))).AsTask());
        Assert.Equal(("4", 4), (error.Message, attempts));
        Assert.Contains(nameof(ExecuteAsync_RetriesUsedUp_ThrowsTheLastFailureItself), error.StackTrace, StringComparison.Ordinal);
    }

    // Rivulet R29: OnRetry was called once more after the caller had cancelled.
    [Fact(Timeout = 90_000)]
    public async Task ExecuteAsync_CallerCancelsDuringTheCall_IsNotRetried()
    {
        using var caller = new CancellationTokenSource();
        PolicyChain<int> chain = Make(new PolicyChainOptions<int>
        {
            Retry = new RetryOptions { IsTransient = static _ => true, OnRetryAsync = (_, _) => throw new InvalidOperationException("told") },
            Fallback = new FallbackOptions<int> { Handler = static (_, _) => throw new InvalidOperationException("asked"), ShouldHandle = static _ => true },
            TotalTimeout = TimeSpan.FromSeconds(9),
            AttemptTimeout = TimeSpan.FromSeconds(5),
        });
        OperationCanceledException error = await Assert.ThrowsAnyAsync<OperationCanceledException>(() => chain.ExecuteAsync(
            token =>
            {
                caller.Cancel();
                throw new OperationCanceledException("without a token");
            },
            caller.Token).AsTask());
        Assert.Equal(caller.Token, error.CancellationToken);
    }

    [Theory(Timeout = 90_000)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task ExecuteAsync_CallerCancelsDuringTheDelay_EndsWithTheCallersToken(bool total)
    {
        using var caller = new CancellationTokenSource();
        PolicyChain<int> chain =
            Make(new PolicyChainOptions<int> { Retry = new RetryOptions { IsTransient = IsBroken }, TotalTimeout = total ? TimeSpan.FromSeconds(9) : null });
        Task<int> pending = chain.ExecuteAsync(static _ => throw new IOException(), caller.Token).AsTask();
        await caller.CancelAsync();
        OperationCanceledException error = await Assert.ThrowsAnyAsync<OperationCanceledException>(() => pending);
        Assert.Equal(caller.Token, error.CancellationToken);
    }

    [Fact(Timeout = 90_000)]
    public async Task ExecuteAsync_AttemptTimeout_IsRetriedAndTheCallLeftBehind()
    {
        PolicyChain<int> chain = Make(new PolicyChainOptions<int> { Retry = new RetryOptions { BaseDelay = TimeSpan.Zero }, AttemptTimeout = Span.Ms(10) });
        var hung = new TaskCompletionSource<int>();
        int attempts = 0;
        Task<int> pending = chain.ExecuteAsync(_ => ++attempts == 1 ? new ValueTask<int>(hung.Task) : new ValueTask<int>(attempts)).AsTask();
        _clock.Advance(Span.Ms(10));
        Assert.Equal(2, await pending);
        hung.SetResult(99);
    }

    // Rivulet R26: the fallback did not see a timeout. Here the hook takes the time in which the delay would have ended.
    [Fact(Timeout = 90_000)]
    public async Task ExecuteAsync_TotalTimeoutDuringADelay_EndsAllAndGetsTheFallback()
    {
        PolicyChain<string> chain = Make(new PolicyChainOptions<string>
        {
            Fallback = new FallbackOptions<string> { Handler = static (e, _) => new ValueTask<string>(TimeoutFailure.Is(e) ? "late" : "other") },
            TotalTimeout = Span.Ms(50),
            Retry = new RetryOptions
            {
                BaseDelay = Span.Ms(40),
                BackoffStrategy = BackoffStrategy.Exponential,
                IsTransient = IsBroken,
                OnRetryAsync = (_, _) =>
                {
                    _clock.Advance(Span.Ms(20));
                    return default;
                },
            },
        });
        int attempts = 0;
        Task<string> pending = chain.ExecuteAsync(_ =>
        {
            attempts++;
            throw new IOException();
        }).AsTask();
        Assert.False(pending.IsCompleted);
        _clock.Advance(Span.Ms(30));
        Assert.Equal("late", await pending);
        _clock.Advance(TimeSpan.FromSeconds(60));
        Assert.Equal(1, attempts);
    }

    [Fact(Timeout = 90_000)]
    public async Task ExecuteAsync_DelayLongerThanTheTotalTimeout_EndsAtOnceAndTheFallbackGetsTheCallsError()
    {
        PolicyChain<string> chain = Make(new PolicyChainOptions<string>
        {
            Fallback = new FallbackOptions<string> { Handler = static (e, _) => new ValueTask<string>(TimeoutFailure.Is(e) ? "late" : "other") },
            TotalTimeout = Span.Ms(50),
            Retry = new RetryOptions { BaseDelay = Span.Ms(1_000), BackoffStrategy = BackoffStrategy.Exponential, IsTransient = IsBroken },
        });
        int attempts = 0;
        Assert.Equal("other", await chain.ExecuteAsync(_ =>
        {
            attempts++;
            throw new IOException();
        }));
        _clock.Advance(TimeSpan.FromSeconds(60));
        Assert.Equal(1, attempts);
    }

    [Fact(Timeout = 90_000)]
    public async Task ExecuteAsync_TotalTimeoutDuringTheCall_IsAFailureForTheBreaker()
    {
        CircuitBreaker breaker = MakeBreaker(failures: 1);
        PolicyChain<int> chain = Make(new PolicyChainOptions<int> { TotalTimeout = Span.Ms(50), CircuitBreaker = breaker });
        Task<int> pending = chain.ExecuteAsync(async token =>
        {
            await Task.Delay(System.Threading.Timeout.InfiniteTimeSpan, _clock, token);
            return 1;
        }).AsTask();
        _clock.Advance(Span.Ms(50));
        Assert.True(TimeoutFailure.Is(await Assert.ThrowsAnyAsync<OperationCanceledException>(() => pending)));
        await Until.TrueAsync(() => breaker.State == CircuitBreakerState.Open);
    }

    // Rivulet: the breaker stood around the retries, so that an open circuit did not stop them.
    [Fact(Timeout = 90_000)]
    public async Task ExecuteAsync_CircuitOpensBetweenRetries_EndsThem()
    {
        PolicyChain<int> chain = Make(new PolicyChainOptions<int>
        {
            Retry = new RetryOptions { MaxRetries = 50, BaseDelay = TimeSpan.Zero, IsTransient = IsBroken }, CircuitBreaker = MakeBreaker(failures: 3),
        });
        int attempts = 0;
        CircuitBreakerOpenException error = await Assert.ThrowsAsync<CircuitBreakerOpenException>(() => chain.ExecuteAsync(_ =>
        {
            attempts++;
            throw new IOException();
        }).AsTask());
        Assert.Equal((3, CircuitBreakerState.Open, TimeSpan.FromSeconds(30)), (attempts, error.State, error.RetryAfter));
    }

    // Rivulet R17: a fallback inside the breaker hid every failure from it, and never saw an open circuit.
    [Fact(Timeout = 90_000)]
    public async Task ExecuteAsync_Fallback_HidesNothingFromTheBreakerAndSeesItOpen()
    {
        List<Type> seen = [];
        PolicyChain<int?> chain = Make(new PolicyChainOptions<int?>
        {
            CircuitBreaker = MakeBreaker(failures: 5),
            Fallback = new FallbackOptions<int?>
            {
                // Rivulet R27: null was no result for a nullable number.
                Handler = (e, _) =>
                {
                    seen.Add(e.GetType());
                    return new ValueTask<int?>((int?)null);
                },
            },
        });
        int calls = 0;
        for (int i = 0; i < 20; i++)
        {
            Assert.Null(await chain.ExecuteAsync(_ =>
            {
                calls++;
                throw new IOException();
            }));
        }

        Assert.Equal(5, calls);
        Assert.Equal([.. Enumerable.Repeat(typeof(IOException), 5), .. Enumerable.Repeat(typeof(CircuitBreakerOpenException), 15)], seen);
    }

    // Rivulet R18: each run had its own breaker.
    [Fact(Timeout = 90_000)]
    public async Task ExecuteAsync_BreakerShared_StopsTheOtherChain()
    {
        CircuitBreaker breaker = MakeBreaker(failures: 1);
        PolicyChain<int> first = Make(new PolicyChainOptions<int> { CircuitBreaker = breaker });
        PolicyChain<string> second = Make(new PolicyChainOptions<string> { CircuitBreaker = breaker });
        await Assert.ThrowsAsync<IOException>(() => first.ExecuteAsync(static _ => throw new IOException()).AsTask());
        await Assert.ThrowsAsync<CircuitBreakerOpenException>(() => second.ExecuteAsync(static _ => new ValueTask<string>("made")).AsTask());
    }

    // Rivulet R19: an open circuit burnt the queue.
    [Fact(Timeout = 90_000)]
    public async Task ExecuteAsync_WaitForHalfOpen_LosesNoCall()
    {
        CircuitBreaker breaker = MakeBreaker(failures: 1);
        breaker.TryEnter(out CircuitTicket ticket);
        breaker.Failed(ticket);
        PolicyChain<int> chain = Make(new PolicyChainOptions<int> { CircuitBreaker = breaker, OpenCircuitMode = OpenCircuitMode.WaitForHalfOpen });
        Task<int>[] pending = [.. Enumerable.Range(0, 10).Select(i => chain.ExecuteAsync(static (n, _) => new ValueTask<int>(n), i).AsTask())];
        Assert.All(pending, static p => Assert.False(p.IsCompleted));
        _clock.Advance(TimeSpan.FromSeconds(30));
        Assert.Equal(Enumerable.Range(0, 10), await Task.WhenAll(pending));
        Assert.Equal(CircuitBreakerState.Closed, breaker.State);
    }

    // Rivulet R16: retries did not pass the rate limiter.
    [Fact(Timeout = 90_000)]
    public async Task ExecuteAsync_RateLimit_IsPaidByEachAttempt()
    {
        var bucket = new TokenBucket(new RateLimitOptions { TokensPerSecond = 10, BurstCapacity = 1, TimeProvider = _clock });
        PolicyChain<int> chain =
            Make(new PolicyChainOptions<int> { Retry = new RetryOptions { BaseDelay = TimeSpan.Zero, IsTransient = IsBroken }, RateLimit = bucket });
        List<double> times = [];
        Task<int> pending = chain.ExecuteAsync(_ =>
        {
            times.Add(_clock.GetTimestamp() / (double)TimeSpan.TicksPerMillisecond);
            throw new IOException();
        }).AsTask();
        for (int attempts = 2; attempts <= 4; attempts++)
        {
            await Until.TrueAsync(() => _clock.ArmedTimers == 1);
            _clock.Advance(Span.Ms(100));
            await Until.TrueAsync(() => times.Count == attempts);
        }

        await Assert.ThrowsAsync<IOException>(() => pending);
        Assert.Equal([0, 100, 200, 300], times);
    }

    [Fact(Timeout = 90_000)]
    public async Task ExecuteAsync_CircuitOpensWhileWaitingForTheRate_MakesNoCall()
    {
        CircuitBreaker breaker = MakeBreaker(failures: 1);
        var bucket = new TokenBucket(new RateLimitOptions { TokensPerSecond = 10, BurstCapacity = 1, TimeProvider = _clock });
        PolicyChain<int> chain = Make(new PolicyChainOptions<int> { CircuitBreaker = breaker, RateLimit = bucket });
        var call = new ManualCall();
        Task<int> first = chain.ExecuteAsync(call.Start).AsTask();
        Task<int> second = chain.ExecuteAsync(static _ => throw new InvalidOperationException("made")).AsTask();
        call.Fail(new IOException());
        await Assert.ThrowsAsync<IOException>(() => first);
        _clock.Advance(Span.Ms(100));
        await Assert.ThrowsAsync<CircuitBreakerOpenException>(() => second);
    }

    // What was paid before the wait for the circuit was a start at that time: five calls of a second apart began together.
    [Theory(Timeout = 90_000)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task ExecuteAsync_CircuitOpensWhileWaitingForTheRate_PaysAgainWhenItStarts(bool throughAnyGate)
    {
        CircuitBreaker breaker = new(new CircuitBreakerOptions { FailureThreshold = 1, SuccessThreshold = 5, TimeProvider = _clock });
        using LastReadTimeProvider clock = new(_clock);
        IRateLimit gate = new TokenBucket(new RateLimitOptions { TokensPerSecond = 1, BurstCapacity = 1, TimeProvider = clock });
        PolicyChain<int> chain = Make(new PolicyChainOptions<int>
        {
            CircuitBreaker = breaker,
            RateLimit = RateLimitOptions.Shared(throughAnyGate ? new PassingGate(gate) : gate),
            OpenCircuitMode = OpenCircuitMode.WaitForHalfOpen,
        });
        ConcurrentQueue<long> starts = [];
        Assert.True(breaker.TryEnter(out CircuitTicket ticket));
        Task<int>[] calls = [.. Enumerable.Range(0, 6).Select(i => chain.ExecuteAsync(_ =>
        {
            starts.Enqueue(clock.LastRead);
            return new ValueTask<int>(i);
        }).AsTask())];
        breaker.Failed(ticket);
        Task all = Task.WhenAll(calls);
        while (!all.IsCompleted)
        {
            await Until.TrueAsync(() => all.IsCompleted || _clock.ArmedTimers > 0);
            _clock.Advance(Span.Ms(500));
        }

        Assert.Equal(Enumerable.Range(0, 6), await Task.WhenAll(calls));
        Assert.InRange(RateBound.Excess(starts, clock.TimestampFrequency, 1, 1), -1, 1e-3);
    }

    [Fact(Timeout = 90_000)]
    public async Task ExecuteAsync_GateRefuses_IsNoFailureForTheBreakerAndProbesComeBack()
    {
        CircuitBreaker breaker = MakeBreaker(failures: 1);
        breaker.TryEnter(out CircuitTicket ticket);
        breaker.Failed(ticket);
        _clock.Advance(TimeSpan.FromSeconds(30));
        PolicyChain<int> chain = Make(new PolicyChainOptions<int> { CircuitBreaker = breaker, RateLimit = RateLimitOptions.Shared(new RefusingGate()) });
        for (int i = 0; i < 5; i++)
        {
            await Assert.ThrowsAsync<RateLimitRejectedException>(() => chain.ExecuteAsync(static _ => new ValueTask<int>(1)).AsTask());
        }

        Assert.Equal((CircuitBreakerState.HalfOpen, TimeSpan.Zero), (breaker.State, breaker.RetryAfter));
    }

    [Theory(Timeout = 90_000)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task ExecuteAsync_Lease_IsHeldUntilTheCallHasEnded(bool fails)
    {
        var gate = new LeaseGate();
        PolicyChain<int> chain = Make(new PolicyChainOptions<int> { RateLimit = RateLimitOptions.Shared(gate) });
        var call = new ManualCall();
        Task<int> pending = chain.ExecuteAsync(call.Start).AsTask();
        Assert.Equal(1, gate.Held);
        if (fails)
        {
            call.Fail(new IOException());
            await Assert.ThrowsAsync<IOException>(() => pending);
        }
        else
        {
            call.End(1);
            await pending;
        }

        Assert.Equal(0, gate.Held);
        await chain.ExecuteAsync(static _ => new ValueTask<int>(1));
        Assert.Equal((0, 2), (gate.Held, gate.Given));
    }

    [Fact]
    public void Constructor_OptionOutOfRange_IsNamed()
    {
        static void Wrong(string name, PolicyChainOptions<int> options) =>
            Assert.Throws<ArgumentOutOfRangeException>(name, () => new PolicyChain<int>(options));

        Wrong("TotalTimeout", new PolicyChainOptions<int> { TotalTimeout = TimeSpan.Zero });
        Wrong("AttemptTimeout", new PolicyChainOptions<int> { AttemptTimeout = -Span.Ms(2) });
        Wrong("MaxRetries", new PolicyChainOptions<int> { Retry = new RetryOptions { MaxRetries = -1 } });
        Wrong("OpenCircuitMode", new PolicyChainOptions<int> { OpenCircuitMode = (OpenCircuitMode)7 });
        Assert.Throws<ArgumentNullException>("call", () => { _ = new PolicyChain<int>(new PolicyChainOptions<int>()).ExecuteAsync(null!); });
    }

    private PolicyChain<T> Make<T>(PolicyChainOptions<T> options) => new(options with { TimeProvider = _clock });

    private CircuitBreaker MakeBreaker(int failures) => new(new CircuitBreakerOptions { FailureThreshold = failures, TimeProvider = _clock });

    private sealed class RefusingGate : IRateLimit
    {
        public ValueTask<IDisposable?> EnterAsync(CancellationToken cancellationToken) => throw new RateLimitRejectedException(TimeSpan.FromSeconds(1));
    }

    private sealed class PassingGate(IRateLimit inner) : IRateLimit
    {
        public async ValueTask<IDisposable?> EnterAsync(CancellationToken cancellationToken) => await inner.EnterAsync(cancellationToken).ConfigureAwait(false);
    }

    private sealed class LeaseGate : IRateLimit, IDisposable
    {
        public int Held { get; private set; }

        public int Given { get; private set; }

        public ValueTask<IDisposable?> EnterAsync(CancellationToken cancellationToken)
        {
            Held++;
            Given++;
            return new ValueTask<IDisposable?>(this);
        }

        public void Dispose() => Held--;
    }
}
