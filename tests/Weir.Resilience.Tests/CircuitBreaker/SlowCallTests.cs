using Weir.Resilience.Tests.Support;

namespace Weir.Resilience.Tests.CircuitBreakers;

public class SlowCallTests
{
    private static readonly TimeSpan Slow = TimeSpan.FromSeconds(1);
    private readonly ManualTimeProvider _clock = new();

    [Theory]
    [InlineData(0.5, 5)]
    [InlineData(1.0, 10)]
    [InlineData(0.1, 1)]
    public void Succeeded_ShareOfSlowCalls_OpensAtTheRatio(double ratio, int slowCalls)
    {
        CircuitBreaker breaker = Make(Usual with { SlowCallRatio = ratio });
        for (int i = 0; i < 10 - slowCalls; i++)
        {
            Call(breaker, Slow);
        }

        for (int i = 0; i < slowCalls; i++)
        {
            Assert.Equal(CircuitBreakerState.Closed, breaker.State);
            Call(breaker, Slow + new TimeSpan(1));
        }

        Assert.Equal(CircuitBreakerState.Open, breaker.State);
        TimeoutException reason = Assert.IsType<TimeoutException>(breaker.OpenedBy);
        Assert.Equal("Too many calls took longer than 00:00:01, the SlowCallDuration of the circuit breaker.", reason.Message);
        Assert.Same(reason, breaker.CreateRejection().InnerException);
    }

    [Fact]
    public void Succeeded_FewerThanTheMinimum_StaysClosed()
    {
        CircuitBreaker breaker = Make(Usual);
        for (int i = 0; i < 9; i++)
        {
            Call(breaker, Slow * 2);
        }

        Assert.Equal(CircuitBreakerState.Closed, breaker.State);
        Call(breaker, Slow * 2);
        Assert.Equal(CircuitBreakerState.Open, breaker.State);
    }

    [Fact]
    public void Succeeded_SlowCallsThatLeftTheWindow_CountNoMore()
    {
        CircuitBreaker breaker = Make(Usual);
        for (int i = 0; i < 9; i++)
        {
            Call(breaker, Slow * 2);
        }

        _clock.Advance(TimeSpan.FromSeconds(100));
        for (int i = 0; i < 9; i++)
        {
            Call(breaker, TimeSpan.Zero);
        }

        Call(breaker, Slow * 2);
        Assert.Equal(CircuitBreakerState.Closed, breaker.State);
    }

    // A failure is no less slow for having failed: half of the calls time out, the other half comes late.
    [Fact]
    public void Failed_SlowCall_CountsAsSlowToo()
    {
        CircuitBreaker breaker = Make(Usual with { SlowCallRatio = 1, FailureRatio = 0.9 });
        for (int i = 0; i < 9; i++)
        {
            breaker.TryEnter(out CircuitTicket ticket);
            _clock.Advance(Slow * 2);
            breaker.Report(ticket, i % 2 == 0 ? new TimeoutException() : null);
        }

        Assert.Equal(CircuitBreakerState.Closed, breaker.State);
        Call(breaker, Slow * 2);
        Assert.Equal(CircuitBreakerState.Open, breaker.State);
    }

    [Fact]
    public void Failed_WindowOfFailures_CountsBesideSlowCalls()
    {
        CircuitBreaker breaker = Make(Usual with { FailureThreshold = 3 });
        for (int i = 0; i < 3; i++)
        {
            Assert.Equal(CircuitBreakerState.Closed, breaker.State);
            Call(breaker, TimeSpan.Zero);
            breaker.TryEnter(out CircuitTicket ticket);
            breaker.Failed(ticket, new InvalidOperationException());
        }

        Assert.Equal(CircuitBreakerState.Open, breaker.State);
        Assert.IsType<InvalidOperationException>(breaker.OpenedBy);
    }

    [Fact]
    public void Succeeded_SlowProbe_OpensAgain()
    {
        CircuitBreaker breaker = MakeOpen();
        Assert.True(breaker.TryEnter(out CircuitTicket fast));
        Assert.True(breaker.TryEnter(out CircuitTicket slow));
        breaker.Succeeded(fast);
        _clock.Advance(Slow + new TimeSpan(1));
        breaker.Succeeded(slow);
        Assert.Equal((CircuitBreakerState.Open, TimeSpan.FromSeconds(30)), (breaker.State, breaker.RetryAfter));
    }

    [Fact]
    public void Succeeded_FastProbes_CloseAndForgetTheSlowCalls()
    {
        CircuitBreaker breaker = MakeOpen();
        Call(breaker, Slow);
        Call(breaker, Slow);
        Assert.Equal((CircuitBreakerState.Closed, null), (breaker.State, breaker.OpenedBy));
        for (int i = 0; i < 9; i++)
        {
            Call(breaker, Slow * 2);
        }

        Assert.Equal(CircuitBreakerState.Closed, breaker.State);
    }

    [Fact]
    public void Ignored_SlowCall_CountsForNothing()
    {
        CircuitBreaker breaker = Make(Usual with { MinimumThroughput = 1 });
        breaker.TryEnter(out CircuitTicket ticket);
        _clock.Advance(Slow * 2);
        breaker.Report(ticket, new OperationCanceledException());
        Assert.Equal(CircuitBreakerState.Closed, breaker.State);
    }

    [Fact]
    public void Succeeded_LateCallOfAnOlderGeneration_CountsForNothing()
    {
        CircuitBreaker breaker = Make(Usual with { MinimumThroughput = 1 });
        breaker.TryEnter(out CircuitTicket old);
        breaker.Open();
        breaker.Close();
        _clock.Advance(Slow * 2);
        breaker.Succeeded(old);
        Assert.Equal(CircuitBreakerState.Closed, breaker.State);
    }

    [Fact]
    public void Succeeded_GeneratorThrows_OpensForTheUsualTime()
    {
        CircuitBreaker breaker = Make(Usual with { MinimumThroughput = 1, OpenTimeoutGenerator = static _ => throw new InvalidOperationException() });
        breaker.TryEnter(out CircuitTicket ticket);
        _clock.Advance(Slow * 2);
        Assert.Throws<InvalidOperationException>(() => breaker.Succeeded(ticket));
        Assert.Equal((CircuitBreakerState.Open, TimeSpan.FromSeconds(30)), (breaker.State, breaker.RetryAfter));
    }

    // The clock is read for nothing else by a closed circuit.
    [Fact]
    public void Call_WithoutSlowCalls_ReadsNoClock()
    {
        CountingClock clock = new();
        CircuitBreaker breaker = new(new CircuitBreakerOptions { SamplingDuration = Slow, TimeProvider = clock });
        for (int i = 0; i < 100; i++)
        {
            breaker.TryEnter(out CircuitTicket ticket);
            breaker.Succeeded(ticket);
        }

        Assert.Equal(0, clock.Reads);
    }

    [Fact(Timeout = 30_000)]
    public async Task ExecuteAsync_ChainWithSlowCalls_RefusesTheNextWithTheReason()
    {
        PolicyChain<int> chain = new(new PolicyChainOptions<int>
        {
            CircuitBreaker = Usual with { MinimumThroughput = 2 },
            TimeProvider = _clock,
        });
        for (int i = 0; i < 2; i++)
        {
            TaskCompletionSource<int> call = new();
            ValueTask<int> pending = chain.ExecuteAsync(_ => new ValueTask<int>(call.Task));
            _clock.Advance(Slow * 2);
            call.SetResult(i);
            Assert.Equal(i, await pending);
        }

        CircuitBreakerOpenException refused = await Assert.ThrowsAsync<CircuitBreakerOpenException>(() => chain.ExecuteAsync(_ => 1).AsTask());
        Assert.IsType<TimeoutException>(refused.InnerException);
    }

    // A queue of ours says nothing about the called service.
    [Fact(Timeout = 30_000)]
    public async Task ExecuteAsync_WaitAtTheRateLimit_IsNoPartOfTheCall()
    {
        CircuitBreaker breaker = Make(Usual with { MinimumThroughput = 1 });
        PolicyChain<int> chain = new(new PolicyChainOptions<int>
        {
            CircuitBreaker = breaker,
            RateLimit = new RateLimitOptions { TokensPerSecond = 0.1, BurstCapacity = 1 },
            TimeProvider = _clock,
        });
        Assert.Equal(1, await chain.ExecuteAsync(_ => 1));
        ValueTask<int> waits = chain.ExecuteAsync(_ => 2);
        Assert.False(waits.IsCompleted);
        _clock.Advance(TimeSpan.FromSeconds(10));
        Assert.Equal(2, await waits);
        Assert.Equal(CircuitBreakerState.Closed, breaker.State);
    }

    [Fact(Timeout = 30_000)]
    public async Task ExecuteAsync_WaitForAPermit_IsNoPartOfTheCall()
    {
        CircuitBreaker breaker = Make(Usual with { MinimumThroughput = 1 });
        SharedConcurrencyLimit limit = new(1);
        PolicyChain<int> chain = new(new PolicyChainOptions<int> { CircuitBreaker = breaker, ConcurrencyLimit = limit, TimeProvider = _clock });
        await limit.EnterAsync();
        ValueTask<int> waits = chain.ExecuteAsync(_ => 2);
        Assert.False(waits.IsCompleted);
        _clock.Advance(Slow * 10);
        limit.Leave();
        Assert.Equal(2, await waits);
        Assert.Equal(CircuitBreakerState.Closed, breaker.State);
    }

    private static CircuitBreakerOptions Usual => new() { SamplingDuration = TimeSpan.FromSeconds(100), SlowCallDuration = Slow };

    private CircuitBreaker Make(CircuitBreakerOptions options) => new(options with { TimeProvider = _clock });

    private CircuitBreaker MakeOpen()
    {
        CircuitBreaker breaker = Make(Usual);
        for (int i = 0; i < 10; i++)
        {
            Call(breaker, Slow * 2);
        }

        Assert.Equal(CircuitBreakerState.Open, breaker.State);
        _clock.Advance(TimeSpan.FromSeconds(30));
        return breaker;
    }

    private void Call(CircuitBreaker breaker, TimeSpan time)
    {
        Assert.True(breaker.TryEnter(out CircuitTicket ticket));
        _clock.Advance(time);
        breaker.Succeeded(ticket);
    }

    private sealed class CountingClock : TimeProvider
    {
        public int Reads { get; private set; }

        public override long GetTimestamp() => ++Reads;
    }
}
