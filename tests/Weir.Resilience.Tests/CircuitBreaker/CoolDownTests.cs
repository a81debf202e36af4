using Weir.Resilience.Tests.Support;
using Breakers = Weir.Resilience.CircuitBreakers;

namespace Weir.Resilience.Tests.CircuitBreakers;

/// <summary>A failure that asks everybody to wait opens the circuit for that time, whoever was told.</summary>
public sealed class CoolDownTests
{
    private const int Limit = 60_000;

    private static readonly TimeSpan Second = TimeSpan.FromSeconds(1);

    private readonly ManualTimeProvider _clock = new();

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    private CircuitBreakerOptions Usual => new() { CoolDown = static e => (e as BusyException)?.RetryAfter, TimeProvider = _clock };

    [Theory]
    [InlineData(5, 5)]
    [InlineData(300, 300)]
    [InlineData(301, 300)]
    [InlineData(1e9, 300)]
    public void Report_FailureAsksToWait_OpensAtOnceForThatTime(double asked, int seconds)
    {
        CircuitBreaker breaker = new(Usual);
        Assert.True(breaker.TryEnter(out CircuitTicket ticket));
        BusyException busy = new(Second * asked);
        breaker.Report(ticket, busy);
        Assert.Equal((CircuitBreakerState.Open, Second * seconds, busy), (breaker.State, breaker.RetryAfter, breaker.OpenedBy));
        _clock.Advance((Second * seconds) - new TimeSpan(1));
        Assert.False(breaker.TryEnter(out _));
        _clock.Advance(new TimeSpan(1));
        Assert.True(breaker.TryEnter(out _));
        Assert.Equal(CircuitBreakerState.HalfOpen, breaker.State);
    }

    [Theory]
    [InlineData(null)]
    [InlineData(0)]
    [InlineData(-1)]
    public void Report_FailureAsksForNothing_CountsAsFailure(int? asked)
    {
        CircuitBreaker breaker = new(Usual with { FailureThreshold = 2 });
        for (int i = 0; i < 2; i++)
        {
            Assert.Equal(CircuitBreakerState.Closed, breaker.State);
            breaker.TryEnter(out CircuitTicket ticket);
            breaker.Report(ticket, new BusyException(asked * Second));
        }

        Assert.Equal(Second * 30, breaker.RetryAfter);
    }

    [Fact]
    public void Report_WithoutTheOption_ObeysNothing()
    {
        CircuitBreaker breaker = new(new CircuitBreakerOptions { TimeProvider = _clock });
        breaker.TryEnter(out CircuitTicket ticket);
        breaker.Report(ticket, new BusyException(Second));
        Assert.Equal(CircuitBreakerState.Closed, breaker.State);
    }

    // The server has answered just now, though the call began long ago.
    [Theory]
    [InlineData("closed")]
    [InlineData("open for less")]
    [InlineData("open for more")]
    [InlineData("half-open")]
    [InlineData("isolated")]
    public void Report_CallOfAnOlderState_AsksAsWell(string state)
    {
        CircuitBreaker breaker = new(Usual);
        Assert.True(breaker.TryEnter(out CircuitTicket ticket));
        breaker.Open();
        if (state == "closed")
        {
            breaker.Close();
        }
        else if (state == "half-open")
        {
            _clock.Advance(Second * 30);
            Assert.True(breaker.TryEnter(out _));
        }
        else if (state == "isolated")
        {
            breaker.Isolate();
        }

        breaker.Report(ticket, new BusyException(Second * (state == "open for more" ? 20 : 40)));
        Assert.Equal((CircuitBreakerState.Open, state == "isolated"), (breaker.State, breaker.IsIsolated));
        if (state != "isolated")
        {
            Assert.Equal(Second * (state == "open for more" ? 30 : 40), breaker.RetryAfter);
        }
    }

    [Fact]
    public void Report_ProbeIsAskedToWait_WaitsForThatTimeAndNotForOpenTimeout()
    {
        CircuitBreaker breaker = new(Usual with { OpenTimeoutGenerator = static _ => TimeSpan.FromHours(1) });
        breaker.CoolDown(Second);
        _clock.Advance(Second);
        Assert.True(breaker.TryEnter(out CircuitTicket probe));
        breaker.Report(probe, new BusyException(Second * 2));
        Assert.Equal((CircuitBreakerState.Open, Second * 2), (breaker.State, breaker.RetryAfter));
    }

    [Theory]
    [InlineData("no failure")]
    [InlineData("cancelled")]
    [InlineData("refused by a limit inside")]
    public void Report_ExceptionThatIsNoFailure_IsAskedOnlyIfTheServiceHasAnswered(string kind)
    {
        CircuitBreaker breaker = new(Usual with
        {
            IsFailure = kind == "no failure" ? static _ => false : null,
            CoolDown = static _ => Second,
        });
        breaker.TryEnter(out CircuitTicket ticket);
        breaker.Report(ticket, kind switch
        {
            "no failure" => new BusyException(Second),
            "cancelled" => new OperationCanceledException(),
            _ => new RateLimitRejectedException(Second),
        });
        Assert.Equal(kind == "no failure" ? CircuitBreakerState.Open : CircuitBreakerState.Closed, breaker.State);
    }

    [Fact]
    public void Report_FunctionThrows_CountsAsFailureAndPassesItOn()
    {
        CircuitBreaker breaker = new(Usual with { CoolDown = static _ => throw new FormatException(), FailureThreshold = 1 });
        breaker.TryEnter(out CircuitTicket ticket);
        Assert.Throws<FormatException>(() => breaker.Report(ticket, new BusyException(Second)));
        Assert.Equal(Second * 30, breaker.RetryAfter);
    }

    [Theory]
    [InlineData(0)]
    [InlineData(-1)]
    [InlineData(1e9)]
    public void CoolDown_TimeOutOfRange_Throws(double seconds) =>
        Assert.Equal("time", Assert.Throws<ArgumentOutOfRangeException>(() => new CircuitBreaker().CoolDown(Second * seconds)).ParamName);

    [Fact]
    public void MaxCoolDown_OutOfRange_Throws() =>
        Assert.Equal("MaxCoolDown", Assert.Throws<ArgumentOutOfRangeException>(() => new CircuitBreaker(Usual with { MaxCoolDown = TimeSpan.Zero })).ParamName);

    [Theory(Timeout = Limit)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Chain_OneCallIsAskedToWait_HoldsTheOthersOfItsKey(bool byKey)
    {
        int calls = 0;
        int other = 0;
        PolicyChainOptions<int> options = new()
        {
            CircuitBreaker = byKey ? Breakers.ByKey<string, string>(static key => key, Usual) : new CircuitBreaker(Usual),
            OpenCircuitMode = OpenCircuitMode.WaitForHalfOpen,
            Retry = new RetryOptions { IsTransient = static e => e is BusyException, DelayHint = static e => (e as BusyException)?.RetryAfter },
            TimeProvider = _clock,
        };
        PolicyChain<int> chain = new(options);
        PolicyChain<int> ofKey = byKey ? chain.For("a") : chain;
        Task<int>[] all = [.. Enumerable.Range(0, 20).Select(_ => ofKey.ExecuteAsync(
            _ => Interlocked.Increment(ref calls) == 1 ? throw new BusyException(Second * 5) : new ValueTask<int>(1), Token).AsTask())];
        Assert.Equal(1, calls);
        if (byKey)
        {
            Assert.Equal(2, await chain.For("b").ExecuteAsync(_ => new ValueTask<int>(other = 2), Token));
        }

        _clock.Advance((Second * 5) - TimeSpan.FromMilliseconds(1));
        await Task.Yield();
        Assert.Equal((1, byKey ? 2 : 0), (calls, other));
        _clock.Advance(TimeSpan.FromMilliseconds(1));
        Assert.Equal(Enumerable.Repeat(1, 20), await Task.WhenAll(all).WithinAsync("the calls that were held"));
        Assert.Equal(21, calls);
    }

    [Fact(Timeout = Limit)]
    public async Task Chain_HeldCallCannotMakeItInTime_IsRefusedAtOnce()
    {
        CircuitBreaker breaker = new(Usual);
        PolicyChain<int> chain = new(new PolicyChainOptions
        {
            CircuitBreaker = breaker, OpenCircuitMode = OpenCircuitMode.WaitForHalfOpen, TotalTimeout = Second * 3, TimeProvider = _clock,
        });
        await Assert.ThrowsAsync<BusyException>(async () => await chain.ExecuteAsync(static _ => ValueTask.FromException<int>(new BusyException(Second * 5)), Token));
        CircuitBreakerOpenException reason = await Assert.ThrowsAsync<CircuitBreakerOpenException>(
            async () => await chain.ExecuteAsync(static _ => new ValueTask<int>(1), Token).AsTask().WithinAsync("the call"));
        Assert.Equal(Second * 5, reason.RetryAfter);
        Assert.IsType<BusyException>(reason.InnerException);

        // The one that comes later can wait for it. When its time comes, the server has asked for more, and it is refused then.
        _clock.Advance(Second * 3);
        Task<int> held = chain.ExecuteAsync(static _ => new ValueTask<int>(1), Token).AsTask();
        Assert.False(held.IsCompleted);
        breaker.CoolDown(Second * 30);
        _clock.Advance(Second * 2);
        await Assert.ThrowsAsync<CircuitBreakerOpenException>(async () => await held.WithinAsync("the call"));
    }

    // What was held comes back through the limits behind the circuit.
    [Theory(Timeout = Limit)]
    [InlineData(1)]
    [InlineData(3)]
    public async Task Chain_HeldCallsAreReleased_WithinTheRateAndTheLimit(int limit)
    {
        TokenBucket bucket = new(new RateLimitOptions { TokensPerSecond = 10, BurstCapacity = 2, TimeProvider = _clock });
        List<TimeSpan> starts = [];
        int inFlight = 0;
        int most = 0;
        TimeSpan now = TimeSpan.Zero;
        PolicyChain<int> chain = new(new PolicyChainOptions
        {
            CircuitBreaker = new CircuitBreaker(Usual), OpenCircuitMode = OpenCircuitMode.WaitForHalfOpen, RateLimit = bucket,
            ConcurrencyLimit = new SharedConcurrencyLimit(limit), TimeProvider = _clock,
        });
        await Assert.ThrowsAsync<BusyException>(async () => await chain.ExecuteAsync(static _ => ValueTask.FromException<int>(new BusyException(Second)), Token));
        Task<int>[] held = [.. Enumerable.Range(0, 30).Select(_ => chain.ExecuteAsync(
            async _ =>
            {
                lock (starts)
                {
                    starts.Add(now);
                    most = Math.Max(most, ++inFlight);
                }

                await Task.Yield();
                lock (starts)
                {
                    inFlight--;
                }

                return 1;
            },
            Token).AsTask())];
        Task all = Task.WhenAll(held);
        for (int i = 0; !all.IsCompleted && i < 10_000; i++)
        {
            for (int turn = 0; turn < 20; turn++)
            {
                await Task.Yield();
            }

            lock (starts)
            {
                now += TimeSpan.FromMilliseconds(10);
            }

            _clock.Advance(TimeSpan.FromMilliseconds(10));
        }

        await all.WithinAsync("the calls that were held");
        Assert.InRange(most, 1, limit);
        Assert.All(starts, static start => Assert.InRange(start, Second, TimeSpan.MaxValue));
        for (int i = 0; i < starts.Count; i++)
        {
            // A burst of two, and then a token each 100 ms.
            Assert.InRange(starts[i], Second + TimeSpan.FromMilliseconds(100 * Math.Max(0, i - 1)), TimeSpan.MaxValue);
        }
    }

    [Fact(Timeout = Limit)]
    public async Task Chain_RefusedResultAsksToWait_HoldsTheOthers()
    {
        CircuitBreaker breaker = new(Usual);
        PolicyChain<int> chain = new(new PolicyChainOptions<int>
        {
            CircuitBreaker = breaker, Retry = new RetryOptions { MaxRetries = 1 }, TimeProvider = _clock,
            ShouldRetry = static outcome => outcome.HasResult && outcome.Result == 429,
            DelayHint = static _ => Second * 5,
        });
        int calls = 0;
        Task<int> call = chain.ExecuteAsync(_ => new ValueTask<int>(++calls == 1 ? 429 : 200), Token).AsTask();
        Assert.Equal((CircuitBreakerState.Open, Second * 5), (breaker.State, breaker.RetryAfter));
        await Assert.ThrowsAsync<CircuitBreakerOpenException>(async () => await chain.ExecuteAsync(_ => new ValueTask<int>(++calls), Token));
        _clock.Advance(Second * 5);
        Assert.Equal(200, await call.WithinAsync("the call"));
        Assert.Equal(2, calls);
    }

    private sealed class BusyException(TimeSpan? retryAfter) : Exception
    {
        public TimeSpan? RetryAfter => retryAfter;
    }
}
