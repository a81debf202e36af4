namespace Weir.Resilience.Tests.CircuitBreakers;

/// <summary>What people do by hand, how long a circuit is open, and what opened it.</summary>
public class CircuitByHandTests
{
    private const int Timeout = 90_000;
    private readonly ManualTimeProvider _time = new();
    private readonly List<(CircuitBreakerState, CircuitBreakerState)> _changes = [];

    [Fact]
    public void Isolate_AnyTimeLater_RejectsUntilClosed()
    {
        CircuitBreaker breaker = Make();
        IOException reason = new("maintenance");
        breaker.Isolate(reason);
        _time.Advance(TimeSpan.FromDays(10_000));
        Assert.False(breaker.TryEnter(out _));
        Assert.True(breaker.IsIsolated);
        Assert.Equal(CircuitBreakerState.Open, breaker.State);
        Assert.True(breaker.RetryAfter > TimeSpan.FromDays(40));
        Assert.Same(reason, breaker.CreateRejection().InnerException);

        breaker.Close();
        Assert.False(breaker.IsIsolated);
        Assert.True(breaker.TryEnter(out _));
        Assert.Null(breaker.OpenedBy);
    }

    [Fact]
    public void Open_ByHand_AdmitsAProbeAfterItsTime()
    {
        CircuitBreaker breaker = Make();
        breaker.TryEnter(out CircuitTicket before);
        breaker.Open();
        breaker.Succeeded(before);
        Assert.False(breaker.TryEnter(out _));
        _time.Advance(TimeSpan.FromSeconds(10));
        Assert.True(breaker.TryEnter(out CircuitTicket probe));
        breaker.Succeeded(probe);
        Assert.Equal(CircuitBreakerState.Closed, breaker.State);
    }

    [Fact]
    public void Isolate_OpenCircuit_StaysOpenAndOpenGivesItATimeAgain()
    {
        CircuitBreaker breaker = Make();
        breaker.Open();
        breaker.Isolate();
        _time.Advance(TimeSpan.FromDays(1));
        Assert.False(breaker.TryEnter(out _));
        breaker.Open();
        Assert.False(breaker.IsIsolated);
        _time.Advance(TimeSpan.FromSeconds(10));
        Assert.True(breaker.TryEnter(out _));
    }

    [Fact]
    public void Close_ClosedCircuit_ForgetsItsFailures()
    {
        CircuitBreaker breaker = Make(new() { FailureThreshold = 2 });
        Fail(breaker);
        breaker.Close();
        Fail(breaker);
        Assert.Equal(CircuitBreakerState.Closed, breaker.State);
        Fail(breaker);
        Assert.Equal(CircuitBreakerState.Open, breaker.State);
    }

    [Fact(Timeout = Timeout)]
    public async Task ByHand_StateDoesNotChange_IsNoChange()
    {
        TaskCompletionSource closed = new();
        CircuitBreaker breaker = Make(new()
        {
            OnStateChange = (from, to) =>
            {
                _changes.Add((from, to));
                _ = to == CircuitBreakerState.Closed && closed.TrySetResult();
                return default;
            },
        });
        breaker.Close();
        breaker.Open();
        breaker.Isolate();
        breaker.Close();
        await closed.Task;
        Assert.Equal([(CircuitBreakerState.Closed, CircuitBreakerState.Open), (CircuitBreakerState.Open, CircuitBreakerState.Closed)], _changes);
    }

    [Fact(Timeout = Timeout)]
    public async Task Close_SomebodyWaits_WakesHim()
    {
        CircuitBreaker breaker = Make();
        breaker.Isolate();
        Task wait = breaker.WaitAsync(TestContext.Current.CancellationToken);
        Assert.False(wait.IsCompleted);
        breaker.Close();
        await wait;
    }

    [Fact]
    public void OpenTimeoutGenerator_GetsTheNumberOfOpenings_AndStartsAnewWhenClosed()
    {
        List<int> asked = [];
        CircuitBreaker breaker = Make(new()
        {
            OpenTimeoutGenerator = number =>
            {
                asked.Add(number);
                return TimeSpan.FromSeconds(number);
            },
        });
        Fail(breaker);
        Assert.Equal(TimeSpan.FromSeconds(1), breaker.RetryAfter);
        _time.Advance(TimeSpan.FromSeconds(1));
        Fail(breaker);
        Assert.Equal(TimeSpan.FromSeconds(2), breaker.RetryAfter);
        _time.Advance(TimeSpan.FromSeconds(2));
        breaker.TryEnter(out CircuitTicket probe);
        breaker.Succeeded(probe);
        Fail(breaker);
        Assert.Equal(TimeSpan.FromSeconds(1), breaker.RetryAfter);
        Assert.Equal([1, 2, 1], asked);
    }

    [Fact]
    public void OpenTimeoutGenerator_OutOfRangeOrThrows_OpensForOpenTimeoutAndPassesItOn()
    {
        CircuitBreaker breaker = Make(new() { OpenTimeoutGenerator = _ => TimeSpan.Zero });
        Assert.Throws<ArgumentOutOfRangeException>(nameof(CircuitBreakerOptions.OpenTimeoutGenerator), () => Fail(breaker));
        Assert.Equal(TimeSpan.FromSeconds(10), breaker.RetryAfter);
        breaker = Make(new() { SamplingDuration = TimeSpan.FromSeconds(1), OpenTimeoutGenerator = _ => throw new IOException() });
        Assert.Throws<IOException>(() => Fail(breaker));
        Assert.Equal(CircuitBreakerState.Open, breaker.State);
    }

    [Fact(Timeout = Timeout)]
    public async Task Chain_CircuitOpen_RejectionCarriesTheFailure()
    {
        CircuitBreaker breaker = Make();
        PolicyChain chain = new(new PolicyChainOptions { CircuitBreaker = breaker });
        CancellationToken token = TestContext.Current.CancellationToken;
        IOException failure = await Assert.ThrowsAsync<IOException>(async () => await chain.ExecuteAsync(Down, token));
        Assert.Same(failure, (await Assert.ThrowsAsync<CircuitBreakerOpenException>(async () => await chain.ExecuteAsync(Down, token))).InnerException);
    }

    [Fact(Timeout = Timeout)]
    public async Task Chain_TimeLimitOpened_KeepsTheTimeoutAndNoToken()
    {
        CircuitBreaker breaker = Make();
        PolicyChain chain = new(new PolicyChainOptions { CircuitBreaker = breaker, AttemptTimeout = TimeSpan.FromSeconds(1), TimeProvider = _time });
        ValueTask call = chain.ExecuteAsync(t => Task.Delay(System.Threading.Timeout.InfiniteTimeSpan, _time, t), TestContext.Current.CancellationToken);
        _time.Advance(TimeSpan.FromSeconds(1));
        await Assert.ThrowsAnyAsync<OperationCanceledException>(async () => await call);
        Assert.IsType<AttemptTimeoutException>(breaker.OpenedBy);
    }

    // The attempt that opened the circuit may be told its number after another call was refused.
    [Fact]
    public void Number_OfARefusedAttempt_IsNotThatOfTheLimitThatOpenedTheCircuit()
    {
        Exception late = TimeoutFailure.OfAttempt(TimeSpan.FromSeconds(1), 0);
        AttemptTimeoutException.Number(new CircuitBreakerOpenException(CircuitBreakerState.Open, TimeSpan.Zero, late.InnerException), 1);
        AttemptTimeoutException.Number(late, 3);
        Assert.Equal("Attempt 3 did not end within its time limit of 00:00:01.", late.Message);
    }

    private static void Down(CancellationToken token) => throw new IOException("down");

    private static void Fail(CircuitBreaker breaker)
    {
        Assert.True(breaker.TryEnter(out CircuitTicket ticket));
        breaker.Failed(ticket);
    }

    private CircuitBreaker Make(CircuitBreakerOptions? options = null)
    {
        options ??= new CircuitBreakerOptions();
        return new(options with
        {
            FailureThreshold = options.FailureThreshold == 5 ? 1 : options.FailureThreshold,
            SuccessThreshold = 1,
            OpenTimeout = TimeSpan.FromSeconds(10),
            TimeProvider = _time,
        });
    }
}
