using Breakers = Weir.Resilience.CircuitBreakers;

namespace Weir.Resilience.Tests.Retry;

public sealed class RetryBudgetTests
{
    private const int Limit = 90_000;

    private readonly ManualTimeProvider _clock = new();

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public void Defaults_AreATenthOfTheCallsAndTenASecond()
    {
        RetryBudget budget = new();
        Assert.Equal((0.1, 10, 0.0, 0L, null), (budget.Ratio, budget.MinRetriesPerSecond, budget.Balance, budget.Refused, budget.Name));
    }

    [Fact]
    public void Constructor_OutOfRange_IsNamed()
    {
        foreach (double ratio in new[] { -0.1, 1.01, double.NaN, double.PositiveInfinity })
        {
            Assert.StartsWith(
                "ratio must be from 0 to 1.",
                Assert.Throws<ArgumentOutOfRangeException>("ratio", () => new RetryBudget(ratio)).Message,
                StringComparison.Ordinal);
        }

        Assert.Throws<ArgumentOutOfRangeException>("minRetriesPerSecond", () => new RetryBudget(0.1, -1));
    }

    [Fact]
    public void TryWithdraw_WithoutAFloor_TakesWhatCallsHavePaid()
    {
        RetryBudget budget = new(0.25, 0, _clock);
        Assert.False(budget.TryWithdraw());
        for (int call = 1; call <= 10; call++)
        {
            budget.Deposit();
        }

        Assert.Equal(2.5, budget.Balance);
        Assert.True(budget.TryWithdraw());
        Assert.True(budget.TryWithdraw());
        Assert.False(budget.TryWithdraw());
        Assert.Equal((0.5, 2), (budget.Balance, budget.Refused));
    }

    [Fact]
    public void Deposit_AnyNumberOfCalls_SavesAHundredRetries()
    {
        RetryBudget budget = new(0.3, 0, _clock);
        for (int call = 0; call < 1_000; call++)
        {
            budget.Deposit();
        }

        Assert.Equal(100, budget.Balance);
        Assert.Equal(100, Enumerable.Range(0, 1_000).Count(_ => budget.TryWithdraw()));
    }

    [Theory]
    [InlineData(1)]
    [InlineData(3)]
    [InlineData(10)]
    [InlineData(1_000)]
    public void TryWithdraw_FloorAlone_AllowsThatManyASecond(int floor)
    {
        RetryBudget budget = new(0, floor, _clock);
        for (int second = 0; second < 5; second++)
        {
            Assert.Equal(floor, Enumerable.Range(0, 3 * floor).Count(_ => budget.TryWithdraw()));
            _clock.Advance(TimeSpan.FromSeconds(1) + Span.Ms(1));
        }
    }

    // Callers that retry without a bound: three retries for each call.
    [Theory(Timeout = Limit)]
    [InlineData(1)]
    [InlineData(10)]
    [InlineData(1_000)]
    [InlineData(100_000)]
    public async Task Chain_EveryCallFails_RetriesATenthOfTheCalls(int calls)
    {
        RetryBudget budget = new(0.1, 0, _clock);
        long attempts = await FailAsync(budget, calls, TimeSpan.FromTicks(TimeSpan.TicksPerSecond / 1_000));
        Assert.Equal(calls / 10, attempts - calls);
        Assert.InRange(attempts, calls, 1.1 * calls);
        Assert.Equal(calls, budget.Refused);

    }

    [Theory(Timeout = Limit)]
    [InlineData(1, 1)]
    [InlineData(10, 1)]
    [InlineData(1_000, 1)]
    [InlineData(100_000, 1)]
    [InlineData(1_000, 20)]
    [InlineData(1_000, 100)]
    [InlineData(1_000, 1_000)]
    public async Task Chain_EveryCallFails_TheFloorAddsNothingWhereCallsPayForMore(int calls, int milliseconds)
    {
        RetryBudget budget = new(0.1, 10, _clock);
        long retries = await FailAsync(budget, calls, Span.Ms(milliseconds)) - calls;
        double seconds = (double)calls * milliseconds / 1_000;
        double most = Math.Max(0.1 * calls, Math.Min(3 * calls, 10 * seconds));
        Assert.InRange(retries, Math.Min(most, 3 * calls) - 1, most + 10);
    }

    // Three times the load that the service can bear: two of three attempts fail.
    [Fact(Timeout = Limit)]
    public async Task Chain_ThreeTimesTheLoad_AttemptsAreAtMostElevenTenths()
    {
        RetryBudget budget = new(timeProvider: _clock);
        SeededRandom random = new(7);
        long attempts = 0;
        int succeeded = 0;
        PolicyChain<int> chain = new(new PolicyChainOptions<int>
        {
            Retry = new RetryOptions { Budget = budget, BaseDelay = TimeSpan.Zero },
            ShouldRetry = static outcome => outcome.Result < 0,
        });
        for (int call = 0; call < 100_000; call++)
        {
            succeeded += await chain.ExecuteAsync(
                _ =>
                {
                    attempts++;
                    return new ValueTask<int>(random.NextDouble() * 3 < 1 ? 1 : -1);
                },
                Token) > 0 ? 1 : 0;
            _clock.Advance(Span.Ms(1));
        }

        Assert.InRange(attempts, 109_900, 110_010);
        Assert.InRange(succeeded, 36_000, 37_300);
    }

    // Conservation: no retry is made that nobody paid for, and none is lost, whoever comes together.
    [Fact(Timeout = Limit)]
    public async Task ConcurrentCallers_WithdrawExactlyWhatWasPaid()
    {
        const int Callers = 8;
        const int Calls = 50_000;
        RetryBudget budget = new(0.1, 0, _clock);
        long made = 0;
        await Task.WhenAll(Enumerable.Range(0, Callers).Select(_ => Task.Run(() =>
        {
            for (int call = 0; call < Calls; call++)
            {
                budget.Deposit();
                if (budget.TryWithdraw())
                {
                    Interlocked.Increment(ref made);
                }
            }
        }))).WithinAsync("the callers");
        Assert.Equal(Callers * Calls * 0.1, made + budget.Balance, 6);
        Assert.Equal((Callers * Calls) - made, budget.Refused);
    }

    [Fact(Timeout = Limit)]
    public async Task ConcurrentCallers_FloorIsOneForAll()
    {
        RetryBudget budget = new(0, 1_000, _clock);
        int[] made = await Task.WhenAll(Enumerable.Range(0, 8).Select(_ => Task.Run(() => Enumerable.Range(0, 10_000).Count(_ => budget.TryWithdraw()))))
            .WithinAsync("the callers");
        Assert.Equal(1_000, made.Sum());
    }

    [Fact(Timeout = Limit)]
    public async Task Chain_BudgetIsEmpty_TheCallFailsWithItsOwnError()
    {
        List<int> hooks = [];
        RetryBudget budget = new(0.5, 0, _clock);
        PolicyChain chain = new(new PolicyChainOptions
        {
            Retry = Options(budget).Retry! with
            {
                OnRetryAsync = (attempt, _) =>
                {
                    hooks.Add(attempt);
                    return default;
                },
            },
        });
        for (int call = 1; call <= 4; call++)
        {
            IOException own = new();
            Assert.Same(own, await Assert.ThrowsAsync<IOException>(async () => await chain.ExecuteAsync(_ => throw own, Token)));
        }

        // The second and the fourth call found a retry.
        Assert.Equal([1, 1], hooks);
        Assert.Equal(4, budget.Refused);
    }

    [Fact(Timeout = Limit)]
    public async Task Chain_FailureThatIsNotTransient_TakesNothing()
    {
        RetryBudget budget = new(1, 0, _clock);
        PolicyChain<int> chain = new(Options(budget));
        await Assert.ThrowsAsync<FormatException>(async () => await chain.ExecuteAsync(static _ => throw new FormatException(), Token));
        Assert.Equal((1.0, 0L), (budget.Balance, budget.Refused));
    }

    // A refused result is returned when no retry may be made, as after the last attempt.
    [Fact(Timeout = Limit)]
    public async Task Chain_RefusedResultAndAnEmptyBudget_ReturnsTheResult()
    {
        RetryBudget budget = new(0, 0, _clock);
        PolicyChain<int> chain = new(Options(budget) with
        {
            Retry = new RetryOptions { Budget = budget, BaseDelay = TimeSpan.Zero },
            ShouldRetry = static outcome => outcome.HasResult,
        });
        Assert.Equal(5, await chain.ExecuteAsync(static _ => 5, Token));
        Assert.Equal(1, budget.Refused);
    }

    [Fact(Timeout = Limit)]
    public async Task Chain_OpenCircuit_TakesNothing()
    {
        RetryBudget budget = new(1, 0, _clock);
        CircuitBreaker breaker = new();
        breaker.Isolate();
        PolicyChain<int> chain = new(Options(budget) with { CircuitBreaker = breaker });
        await Assert.ThrowsAsync<CircuitBreakerOpenException>(async () => await chain.ExecuteAsync(static _ => 1, Token));
        Assert.Equal(1.0, budget.Balance);
    }

    [Fact(Timeout = Limit)]
    public async Task Chain_Cancelled_TakesNothing()
    {
        RetryBudget budget = new(1, 0, _clock);
        PolicyChain<int> chain = new(Options(budget));
        using CancellationTokenSource stop = new();
        await Assert.ThrowsAsync<IOException>(async () => await chain.ExecuteAsync(
            _ =>
            {
                stop.Cancel();
                throw new IOException();
            },
            stop.Token));
        Assert.Equal((1.0, 0L), (budget.Balance, budget.Refused));
    }

    // One budget for all keys: the calls of one pay for the retries of another.
    [Fact(Timeout = Limit)]
    public async Task Chain_ByKeyAndAllLimits_SharesTheBudget()
    {
        RetryBudget budget = new(0.5, 0, _clock);
        PolicyChain<int> chain = new(Options(budget) with
        {
            ConcurrencyLimit = ConcurrencyLimits.ByKey<int, int>(static item => item, 1),
            CircuitBreaker = Breakers.ByKey<int, int>(static item => item),
            RateLimit = new RateLimitOptions { TokensPerSecond = 1_000 },
            TotalTimeout = TimeSpan.FromMinutes(1),
            AttemptTimeout = TimeSpan.FromMinutes(1),
            TimeProvider = _clock,
        });
        Assert.Equal(1, await chain.For(1).ExecuteAsync(static _ => 1, Token));
        int attempts = 0;
        await Assert.ThrowsAsync<IOException>(async () => await chain.For(2).ExecuteAsync(
            _ =>
            {
                attempts++;
                throw new IOException();
            },
            Token));
        Assert.Equal((2, 0.0, 1), (attempts, budget.Balance, budget.Refused));
    }

    [Fact]
    public void RetryPolicy_BudgetIsEmpty_GivesUp()
    {
        RetryBudget budget = new(1, 0, _clock);
        RetryPolicy policy = new(new RetryOptions { Budget = budget, BaseDelay = TimeSpan.Zero });
        Assert.Null(policy.GetDelay(1, new TimeoutException(), TimeSpan.Zero, Token));
        budget.Deposit();
        Assert.Equal(TimeSpan.Zero, policy.GetDelay(1, new TimeoutException(), TimeSpan.Zero, Token));
        Assert.Null(policy.GetDelay(1, TimeSpan.Zero, cancellationToken: Token));
    }

    private static PolicyChainOptions<int> Options(RetryBudget budget) =>
        new() { Retry = new RetryOptions { Budget = budget, BaseDelay = TimeSpan.Zero, IsTransient = static e => e is IOException } };

    // Refused results in place of exceptions, which would take most of the time.
    private async Task<long> FailAsync(RetryBudget budget, int calls, TimeSpan between)
    {
        long attempts = 0;
        PolicyChain<int> chain = new(new PolicyChainOptions<int>
        {
            Retry = new RetryOptions { Budget = budget, BaseDelay = TimeSpan.Zero },
            ShouldRetry = static outcome => outcome.Result < 0,
        });
        for (int call = 0; call < calls; call++)
        {
            Assert.Equal(-1, await chain.ExecuteAsync(
                _ =>
                {
                    attempts++;
                    return new ValueTask<int>(-1);
                },
                Token));
            _clock.Advance(between);
        }

        return attempts;
    }
}
