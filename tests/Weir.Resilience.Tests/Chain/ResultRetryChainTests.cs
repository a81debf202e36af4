namespace Weir.Resilience.Tests.Chain;

/// <summary>Does a chain repeat a call because of its result?</summary>
public class ResultRetryChainTests
{
    private readonly ManualTimeProvider _clock = new();

    [Theory(Timeout = 90_000)]
    [InlineData(false, 2)]
    [InlineData(true, 2)]
    [InlineData(false, 9)]
    [InlineData(true, 9)]
    public async Task ExecuteAsync_RefusedResults_AreRepeatedAndTheLastIsGiven(bool yields, int refusedUpTo)
    {
        List<string> told = [];
        PolicyChain<int> chain = new(new PolicyChainOptions<int>
        {
            Retry = new RetryOptions
            {
                MaxRetries = 3,
                BaseDelay = TimeSpan.Zero,
                OnRetryAsync = (attempt, error) =>
                {
                    told.Add($"{attempt} {(error as ResultRejectedException)?.Result ?? error.Message}");
                    return default;
                },
            },
            CircuitBreaker = new CircuitBreaker(new CircuitBreakerOptions { FailureThreshold = 2 }),
            AttemptTimeout = TimeSpan.FromMinutes(1),
            TotalTimeout = TimeSpan.FromMinutes(1),
            ShouldRetry = outcome => outcome.HasResult ? outcome.Result <= refusedUpTo : outcome.Exception is IOException,
        });
        int calls = 0;
        int result = await chain.ExecuteAsync(async _ =>
        {
            calls++;
            if (yields)
            {
                await Task.Yield();
            }

            return calls == 2 ? throw new IOException("two") : calls;
        });
        Assert.Equal(refusedUpTo == 2 ? 3 : 4, result);
        Assert.Equal(result, calls);
        Assert.Equal(new[] { "1 1", "2 two", "3 3" }[..(result - 1)], told);
    }

    [Fact(Timeout = 90_000)]
    public async Task ExecuteAsync_DelayHintOfAResult_IsTheDelay()
    {
        int calls = 0;
        PolicyChain<int> chain = new(new PolicyChainOptions<int>
        {
            Retry = new RetryOptions { MaxDelay = Span.Ms(500) },
            ShouldRetry = static outcome => outcome.Attempt < 3,
            DelayHint = static outcome => Span.Ms(outcome.Result == 1 ? 70 : 700_000),
            TimeProvider = _clock,
        });
        Task<int> pending = chain.ExecuteAsync(_ => new ValueTask<int>(++calls)).AsTask();
        Assert.Equal(Span.Ms(70), _clock.NextDue);
        _clock.Advance(Span.Ms(70));
        await Until.TrueAsync(() => _clock.NextDue == Span.Ms(570));
        _clock.Advance(Span.Ms(500));
        Assert.Equal(3, await pending);
    }

    [Fact(Timeout = 90_000)]
    public async Task ExecuteAsync_RefusedResultsThatAreDisposable_AreDisposedOf()
    {
        List<CancellationTokenSource> made = [];
        PolicyChain<CancellationTokenSource> chain = new(new PolicyChainOptions<CancellationTokenSource>
        {
            Retry = new RetryOptions { MaxRetries = 2, BaseDelay = TimeSpan.Zero },
            ShouldRetry = static _ => true,
        });
        using CancellationTokenSource last = await chain.ExecuteAsync(_ =>
        {
            made.Add(new CancellationTokenSource());
            return new ValueTask<CancellationTokenSource>(made[^1]);
        });
        Assert.Equal((3, made[2]), (made.Count, last));
        Assert.Throws<ObjectDisposedException>(() => made[0].Token);
        Assert.Throws<ObjectDisposedException>(() => made[1].Token);
        Assert.False(last.Token.IsCancellationRequested);
    }

    [Theory(Timeout = 90_000)]
    [InlineData("hook")]
    [InlineData("hint")]
    [InlineData("cancel")]
    public async Task ExecuteAsync_EndsAfterAResultWasRefused_DisposesOfItOnce(string how)
    {
        using CancellationTokenSource caller = new();
        Disposable made = new();
        PolicyChain<Disposable> chain = new(new PolicyChainOptions<Disposable>
        {
            Retry = new RetryOptions
            {
                MaxRetries = 2,
                BaseDelay = TimeSpan.FromMinutes(1),
                OnRetryAsync = (_, _) =>
                {
                    if (how == "cancel")
                    {
                        caller.Cancel();
                    }

                    return how == "hook" ? throw new InvalidTimeZoneException(how) : default;
                },
            },
            ShouldRetry = static _ => true,
            DelayHint = _ => how == "hint" ? throw new InvalidTimeZoneException(how) : null,
            TimeProvider = _clock,
        });
        Exception? error = await Record.ExceptionAsync(() => chain.ExecuteAsync(_ => new ValueTask<Disposable>(made), caller.Token).AsTask());
        Assert.IsAssignableFrom(how == "cancel" ? typeof(OperationCanceledException) : typeof(InvalidTimeZoneException), error);
        Assert.Equal(1, made.Disposals);
    }

    [Fact(Timeout = 90_000)]
    public async Task ExecuteAsync_TheRuleThrows_EndsTheCall()
    {
        int calls = 0;
        PolicyChain<int> chain = new(new PolicyChainOptions<int>
        {
            Retry = new RetryOptions(),
            ShouldRetry = static _ => throw new InvalidTimeZoneException("rule"),
        });
        await Assert.ThrowsAsync<InvalidTimeZoneException>(() => chain.ExecuteAsync(_ => new ValueTask<int>(++calls)).AsTask());
        Assert.Equal(1, calls);
    }

    [Fact]
    public void Options_WithoutWhatTheyNeed_AreRefusedByName()
    {
        Assert.Throws<ArgumentException>("ShouldRetry", () => new PolicyChain<int>(new PolicyChainOptions<int> { ShouldRetry = static _ => true }));
        Assert.Throws<ArgumentException>(
            "DelayHint", () => new PolicyChain<int>(new PolicyChainOptions<int> { Retry = new RetryOptions(), DelayHint = static _ => null }));
        Assert.Throws<ArgumentException>("ShouldRetry", () => new PolicyChain<int>(new PolicyChainOptions<int>
        {
            Retry = new RetryOptions { IsTransient = static _ => true },
            ShouldRetry = static _ => true,
        }));
    }

    [Fact]
    public void GetDelay_WithoutAnException_IsTheFormulaOrTheHint()
    {
        RetryPolicy policy = new(new RetryOptions { MaxRetries = 2, BackoffStrategy = BackoffStrategy.Exponential, MaxDelay = Span.Ms(1000) });
        Assert.Equal(Span.Ms(200), policy.GetDelay(2, Span.Ms(100)));
        Assert.Equal(Span.Ms(70), policy.GetDelay(2, Span.Ms(100), Span.Ms(70)));
        Assert.Equal(Span.Ms(1000), policy.GetDelay(2, Span.Ms(100), TimeSpan.FromHours(1)));
        Assert.Null(policy.GetDelay(3, Span.Ms(200)));
        Assert.Null(policy.GetDelay(1, TimeSpan.Zero, null, new CancellationToken(canceled: true)));
        Assert.Throws<ArgumentOutOfRangeException>("attempt", () => policy.GetDelay(0, TimeSpan.Zero));
        Assert.Throws<ArgumentOutOfRangeException>("previousDelay", () => policy.GetDelay(1, Span.Ms(-1)));
    }

    private sealed class Disposable : IDisposable
    {
        public int Disposals { get; private set; }

        public void Dispose() => Disposals++;
    }
}
