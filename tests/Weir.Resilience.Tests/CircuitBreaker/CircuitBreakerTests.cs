using System.Collections.Concurrent;

namespace Weir.Resilience.Tests.CircuitBreakers;

public class CircuitBreakerTests
{
    private static readonly TimeSpan OpenTimeout = TimeSpan.FromSeconds(30);
    private readonly ManualTimeProvider _clock = new();

    [Fact]
    public void Failed_FiveOneAfterTheOther_Opens()
    {
        CircuitBreaker breaker = Make();
        Fail(breaker, 4);
        Enter(breaker, out CircuitTicket good);
        breaker.Succeeded(good);
        Fail(breaker, 4);
        Assert.Equal(CircuitBreakerState.Closed, breaker.State);
        Fail(breaker, 1);
        Assert.Equal(CircuitBreakerState.Open, breaker.State);
        Assert.False(breaker.TryEnter(out _));
        Assert.Equal(OpenTimeout, breaker.RetryAfter);
    }

    [Fact]
    public void TryEnter_OpenTimeoutOver_LetsInAllProbesAtOnce()
    {
        CircuitBreaker breaker = MakeOpen();
        _clock.Advance(OpenTimeout - new TimeSpan(1));
        Assert.False(breaker.TryEnter(out _));
        _clock.Advance(new TimeSpan(1));
        Assert.Equal((CircuitBreakerState.Open, TimeSpan.Zero), (breaker.State, breaker.RetryAfter));
        Enter(breaker, out CircuitTicket first);
        Enter(breaker, out CircuitTicket second);
        Assert.Equal(CircuitBreakerState.HalfOpen, breaker.State);
        Assert.False(breaker.TryEnter(out _));
        breaker.Succeeded(first);
        Assert.False(breaker.TryEnter(out _));
        breaker.Succeeded(second);
        Assert.Equal(CircuitBreakerState.Closed, breaker.State);
    }

    [Fact]
    public void Failed_Probe_OpensAgainForTheWholeTime()
    {
        CircuitBreaker breaker = MakeHalfOpen(out CircuitTicket first, out CircuitTicket second);
        breaker.Succeeded(first);
        breaker.Failed(second);
        Assert.Equal((CircuitBreakerState.Open, OpenTimeout), (breaker.State, breaker.RetryAfter));
    }

    // Rivulet R21: successes of calls that began while it was closed closed a half-open circuit whose only probe still ran.
    [Fact]
    public void Succeeded_OlderGeneration_ChangesNothing()
    {
        CircuitBreaker breaker = Make();
        CircuitTicket[] old = [.. Enumerable.Range(0, 10).Select(_ => Enter(breaker, out CircuitTicket ticket) ? ticket : default)];
        Fail(breaker, 5);
        _clock.Advance(OpenTimeout);
        Enter(breaker, out CircuitTicket probe);
        foreach (CircuitTicket ticket in old[..5])
        {
            Assert.False(breaker.IsCurrent(ticket));
            breaker.Succeeded(ticket);
        }

        Assert.Equal(CircuitBreakerState.HalfOpen, breaker.State);
        foreach (CircuitTicket ticket in old[5..])
        {
            breaker.Failed(ticket);
        }

        Assert.Equal(CircuitBreakerState.HalfOpen, breaker.State);
        Assert.True(breaker.IsCurrent(probe));
    }

    [Fact]
    public void Failed_OlderGeneration_DoesNotCountAfterRecovery()
    {
        CircuitBreaker breaker = Make();
        CircuitTicket[] old = [.. Enumerable.Range(0, 10).Select(_ => Enter(breaker, out CircuitTicket ticket) ? ticket : default)];
        Fail(breaker, 5);
        _clock.Advance(OpenTimeout);
        Succeed(breaker, 2);
        Assert.Equal(CircuitBreakerState.Closed, breaker.State);
        foreach (CircuitTicket ticket in old)
        {
            breaker.Failed(ticket);
        }

        Assert.Equal(CircuitBreakerState.Closed, breaker.State);
    }

    [Fact]
    public void Report_DefaultTicket_ChangesNothing()
    {
        CircuitBreaker breaker = Make(new CircuitBreakerOptions { FailureThreshold = 1 });
        breaker.Failed(default);
        breaker.Succeeded(default);
        breaker.Ignored(default);
        Assert.Equal(CircuitBreakerState.Closed, breaker.State);
    }

    // Rivulet R20: the caller's cancellation counted as a failure.
    [Fact]
    public void Report_Cancellation_CountsAsNothing()
    {
        CircuitBreaker breaker = Make(new CircuitBreakerOptions { FailureThreshold = 1 });
        Enter(breaker, out CircuitTicket first);
        breaker.Report(first, new TaskCanceledException("late", new TimeoutException()), new CancellationToken(canceled: true));
        Enter(breaker, out CircuitTicket second);
        breaker.Report(second, new OperationCanceledException());
        Assert.Equal(CircuitBreakerState.Closed, breaker.State);
        Enter(breaker, out CircuitTicket third);
        breaker.Report(third, new TaskCanceledException("late", new TimeoutException()));
        Assert.Equal(CircuitBreakerState.Open, breaker.State);
    }

    [Fact]
    public void Report_RefusalOfALimitInsideTheCall_CountsAsNothingUnlessIsFailureSaysOtherwise()
    {
        CircuitBreaker breaker = Make(new CircuitBreakerOptions { FailureThreshold = 2 });
        Report(breaker, new IOException());
        Report(breaker, new ConcurrencyLimitRejectedException());
        Report(breaker, new RateLimitRejectedException());
        Assert.Equal(CircuitBreakerState.Closed, breaker.State);
        Report(breaker, new IOException());
        Assert.Equal(CircuitBreakerState.Open, breaker.State);
        CircuitBreaker own = Make(new CircuitBreakerOptions { FailureThreshold = 1, IsFailure = static _ => true });
        Report(own, new RateLimitRejectedException());
        Assert.Equal(CircuitBreakerState.Open, own.State);
    }

    [Fact]
    public void Report_OwnIsFailure_DecidesAndTheRestAreSuccesses()
    {
        CircuitBreaker breaker = Make(new CircuitBreakerOptions { FailureThreshold = 2, IsFailure = static e => e is IOException });
        Report(breaker, new IOException());
        Report(breaker, new ArgumentException());
        Report(breaker, new IOException());
        Assert.Equal(CircuitBreakerState.Closed, breaker.State);
        Report(breaker, new IOException());
        Assert.Equal(CircuitBreakerState.Open, breaker.State);
    }

    [Fact]
    public void Report_IsFailureThrows_CountsAsFailure()
    {
        CircuitBreaker breaker = Make(new CircuitBreakerOptions { FailureThreshold = 1, IsFailure = static _ => throw new InvalidOperationException("mine") });
        Assert.Throws<InvalidOperationException>(() => Report(breaker, new IOException()));
        Assert.Equal(CircuitBreakerState.Open, breaker.State);
    }

    [Fact]
    public void Ignored_Probe_GoesBack()
    {
        CircuitBreaker breaker = MakeHalfOpen(out CircuitTicket first, out CircuitTicket second);
        breaker.Succeeded(first);
        breaker.Ignored(second);
        Assert.Equal((CircuitBreakerState.HalfOpen, TimeSpan.Zero), (breaker.State, breaker.RetryAfter));
        Enter(breaker, out CircuitTicket third);
        Assert.False(breaker.TryEnter(out _));
        breaker.Succeeded(third);
        Assert.Equal(CircuitBreakerState.Closed, breaker.State);
    }

    [Fact]
    public void TryEnter_ProbesNeverEnd_LetsInOneMoreAfterEachOpenTimeout()
    {
        CircuitBreaker breaker = MakeHalfOpen(out _, out _);
        Assert.Equal(OpenTimeout, breaker.RetryAfter);
        _clock.Advance(OpenTimeout);
        Enter(breaker, out CircuitTicket third);
        Assert.False(breaker.TryEnter(out _));
        breaker.Succeeded(third);
        _clock.Advance(OpenTimeout);
        Succeed(breaker, 1);
        Assert.Equal(CircuitBreakerState.Closed, breaker.State);
    }

    [Fact]
    public void Failed_SamplingDuration_CountsWithinTheWindowWhateverSucceeds()
    {
        CircuitBreaker breaker = Make(new CircuitBreakerOptions { FailureThreshold = 3, SamplingDuration = Span.Ms(100) });
        Fail(breaker, 2);
        Succeed(breaker, 10);
        _clock.Advance(Span.Ms(100));
        Fail(breaker, 1);
        _clock.Advance(Span.Ms(50));
        Fail(breaker, 1);
        Succeed(breaker, 10);
        Assert.Equal(CircuitBreakerState.Closed, breaker.State);
        _clock.Advance(Span.Ms(49));
        Fail(breaker, 1);
        Assert.Equal(CircuitBreakerState.Open, breaker.State);
    }

    [Fact]
    public void Failed_Ratio_OpensFromTheMinimumThroughput()
    {
        CircuitBreaker breaker =
            Make(new CircuitBreakerOptions { FailureThreshold = 1, FailureRatio = 0.5, MinimumThroughput = 8, SamplingDuration = Span.Ms(1_000) });
        Fail(breaker, 7);
        Assert.Equal(CircuitBreakerState.Closed, breaker.State);
        Succeed(breaker, 9);
        Fail(breaker, 1);

        // 8 of 17, and then 9 of 18.
        Assert.Equal(CircuitBreakerState.Closed, breaker.State);
        Fail(breaker, 1);
        Assert.Equal(CircuitBreakerState.Open, breaker.State);
    }

    [Fact]
    public void Failed_RatioAfterTheWindow_ForgetsTheOldCalls()
    {
        CircuitBreaker breaker = Make(new CircuitBreakerOptions { FailureRatio = 0.1, MinimumThroughput = 4, SamplingDuration = Span.Ms(1_000) });
        Fail(breaker, 3);
        _clock.Advance(Span.Ms(1_000));
        Fail(breaker, 3);
        Assert.Equal(CircuitBreakerState.Closed, breaker.State);
        Fail(breaker, 1);
        Assert.Equal(CircuitBreakerState.Open, breaker.State);
    }

    [Fact]
    public void CreateRejection_OpenAndHalfOpen_SaysSo()
    {
        CircuitBreaker breaker = MakeOpen();
        _clock.Advance(TimeSpan.FromSeconds(10));
        CircuitBreakerOpenException open = breaker.CreateRejection();
        Assert.Equal((CircuitBreakerState.Open, TimeSpan.FromSeconds(20)), (open.State, open.RetryAfter));
        _clock.Advance(TimeSpan.FromSeconds(20));
        Enter(breaker, out _);
        Enter(breaker, out _);
        _clock.Advance(TimeSpan.FromSeconds(1));
        CircuitBreakerOpenException half = breaker.CreateRejection();
        Assert.Equal((CircuitBreakerState.HalfOpen, TimeSpan.FromSeconds(29)), (half.State, half.RetryAfter));
    }

    [Fact(Timeout = 90_000)]
    public async Task WaitAsync_Open_EndsWhenItMayBeTried()
    {
        CircuitBreaker breaker = MakeOpen();
        Task wait = breaker.WaitAsync();
        _clock.Advance(OpenTimeout - Span.Ms(1));
        Assert.False(wait.IsCompleted);
        _clock.Advance(Span.Ms(1));
        await wait;
        Assert.True(breaker.TryEnter(out _));
    }

    [Fact(Timeout = 90_000)]
    public async Task WaitAsync_HalfOpen_EndsWhenAProbeComesBackOrItCloses()
    {
        CircuitBreaker breaker = MakeHalfOpen(out CircuitTicket first, out CircuitTicket second);
        Task wait = breaker.WaitAsync();
        Assert.False(wait.IsCompleted);
        breaker.Ignored(first);
        await wait;
        Enter(breaker, out CircuitTicket third);
        wait = breaker.WaitAsync();
        breaker.Succeeded(second);
        Assert.False(wait.IsCompleted);
        breaker.Succeeded(third);
        await wait;
        Assert.True(breaker.WaitAsync().IsCompletedSuccessfully);
    }

    [Fact(Timeout = 90_000)]
    public async Task WaitAsync_ProbeFails_WaitsOn()
    {
        CircuitBreaker breaker = MakeHalfOpen(out CircuitTicket first, out _);
        _clock.Advance(TimeSpan.FromSeconds(20));
        Task wait = breaker.WaitAsync();
        Task change = breaker.NextChange;
        breaker.Failed(first);
        await change;
        int seconds = 0;
        while (!wait.IsCompleted)
        {
            _clock.Advance(TimeSpan.FromSeconds(1));
            seconds++;
            await Task.Yield();
        }

        Assert.True(seconds >= OpenTimeout.TotalSeconds);
    }

    [Fact(Timeout = 90_000)]
    public async Task WaitAsync_Cancelled_EndsWithTheToken()
    {
        CircuitBreaker breaker = MakeOpen();
        using var cancel = new CancellationTokenSource();
        Task wait = breaker.WaitAsync(cancel.Token);
        await cancel.CancelAsync();
        OperationCanceledException error = await Assert.ThrowsAnyAsync<OperationCanceledException>(() => wait);
        Assert.Equal(cancel.Token, error.CancellationToken);
        Assert.Equal(0, _clock.LiveTimers);
    }

    [Fact(Timeout = 90_000)]
    public async Task OnStateChange_SlowAndThrowing_IsCalledInOrderAndHoldsNobodyUp()
    {
        var seen = new ConcurrentQueue<CircuitBreakerState>();
        var hold = new TaskCompletionSource();
        CircuitBreaker breaker = Make(new CircuitBreakerOptions
        {
            FailureThreshold = 1,
            SuccessThreshold = 1,
            OnStateChange = async (_, to) =>
            {
                seen.Enqueue(to);
                await hold.Task;
                throw new InvalidOperationException("mine");
            },
        });
        Fail(breaker, 1);
        _clock.Advance(OpenTimeout);
        Succeed(breaker, 1);
        Assert.Equal(CircuitBreakerState.Closed, breaker.State);
        await Until.TrueAsync(() => seen.Count == 1);
        hold.SetResult();
        await Until.TrueAsync(() => seen.Count == 3);
        Assert.Equal([CircuitBreakerState.Open, CircuitBreakerState.HalfOpen, CircuitBreakerState.Closed], seen);
    }

    [Fact(Timeout = 90_000)]
    public async Task OnStateChange_CallsBackIntoTheBreaker_IsUnderNoLock()
    {
        CircuitBreaker? breaker = null;
        var done = new TaskCompletionSource<bool>();
        breaker = Make(new CircuitBreakerOptions
        {
            FailureThreshold = 1,
            OnStateChange = (_, _) =>
            {
                // From another thread, because the lock would let the same one in.
                done.SetResult(Task.Run(() => breaker!.RetryAfter > TimeSpan.Zero).Wait(TimeSpan.FromSeconds(60)));
                return default;
            },
        });
        Fail(breaker, 1);
        Assert.True(await done.Task);
    }

    private static bool Enter(CircuitBreaker breaker, out CircuitTicket ticket)
    {
        Assert.True(breaker.TryEnter(out ticket));
        Assert.True(breaker.IsCurrent(ticket));
        return true;
    }

    private static void Report(CircuitBreaker breaker, Exception? outcome)
    {
        Enter(breaker, out CircuitTicket ticket);
        breaker.Report(ticket, outcome);
    }

    private static void Fail(CircuitBreaker breaker, int times)
    {
        for (int i = 0; i < times; i++)
        {
            Report(breaker, new IOException());
        }
    }

    private static void Succeed(CircuitBreaker breaker, int times)
    {
        for (int i = 0; i < times; i++)
        {
            Report(breaker, null);
        }
    }

    private CircuitBreaker Make(CircuitBreakerOptions? options = null) => new((options ?? new CircuitBreakerOptions()) with { TimeProvider = _clock });

    private CircuitBreaker MakeOpen()
    {
        CircuitBreaker breaker = Make();
        Fail(breaker, 5);
        Assert.Equal(CircuitBreakerState.Open, breaker.State);
        return breaker;
    }

    private CircuitBreaker MakeHalfOpen(out CircuitTicket first, out CircuitTicket second)
    {
        CircuitBreaker breaker = MakeOpen();
        _clock.Advance(OpenTimeout);
        Enter(breaker, out first);
        Enter(breaker, out second);
        return breaker;
    }
}
