using Weir.Resilience;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Policies;

/// <summary>A retry budget that runs share with each other and with chains: what their items pay, and what becomes of an item without a token.</summary>
public sealed class RetryBudgetRunTests
{
    private readonly ManualTimeProvider _time = new();
    private int _attempts;

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(1, 1, false)]
    [InlineData(10, 4, false)]
    [InlineData(1_000, 4, false)]
    [InlineData(10_000, 4, false)]
    [InlineData(1_000, 4, true)]
    public async Task EveryItemFails_TheRunRetriesATenthOfThem(int items, int degree, bool suspends)
    {
        RetryBudget budget = new(0.1, 0, _time);
        int failed = 0;
        await Enumerable.Range(0, items).ForEachParallelAsync(
            async (_, _) =>
            {
                Interlocked.Increment(ref _attempts);
                if (suspends)
                {
                    await Task.Yield();
                }

                throw new IOException();
            },
            Options(budget) with
            {
                MaxDegreeOfParallelism = degree,
                ErrorMode = ErrorMode.BestEffort,
                OnErrorAsync = (_, e) =>
                {
                    Assert.IsType<IOException>(e);
                    Interlocked.Increment(ref failed);
                    return new ValueTask<bool>(true);
                },
            },
            Token);
        Assert.Equal((items, items, items / 10), (failed, budget.Refused, _attempts - items));
    }

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(1, "nothing")]
    [InlineData(4, "nothing")]
    [InlineData(4, "limit")]
    [InlineData(4, "results")]
    public async Task ByKey_OneServerFails_ItsRetriesAreATenthOfItsItemsAndTheOthersPayForTheirs(int degree, string beside)
    {
        RetryBudgets<int> budgets = RetryBudgets.ByKey<int, int>(static item => item % 2, 0.1, 0, timeProvider: _time);
        int ofOther = 0;
        ItemOutcome<int, int>[] outcomes = await Enumerable.Range(0, 200).SelectParallelOutcomesAsync(
            async (item, _) =>
            {
                await Task.Yield();
                if (item % 2 == 1)
                {
                    Interlocked.Increment(ref ofOther);
                    return item;
                }

                Interlocked.Increment(ref _attempts);
                return beside == "results" ? -1 : throw new TimeoutException();
            },
            new ParallelRunOptions
            {
                MaxDegreeOfParallelism = degree,
                Retry = new RetryOptions { MaxRetries = 3, BaseDelay = TimeSpan.Zero, Budget = budgets },
                ShouldRetry = beside == "results" ? RetryRule.Of<int>(static outcome => !outcome.HasResult || outcome.Result < 0) : null,
                ConcurrencyLimit = beside == "limit" ? ConcurrencyLimits.ByKey<int, int>(static item => item % 2, 1) : null,
            },
            Token);
        Assert.Equal(beside == "results" ? 200 : 100, outcomes.Count(static o => o.IsSuccess));
        Assert.Equal((110, 100, 0.0, 10.0), (_attempts, ofOther, budgets.Get(0).Balance, Math.Round(budgets.Get(1).Balance, 6)));
    }

    // Each policy that an item may wait for brings it back, and it pays only once.
    [Theory(Timeout = Selectors.Timeout)]
    [InlineData("nothing")]
    [InlineData("hooks")]
    [InlineData("records")]
    [InlineData("circuit breaker")]
    [InlineData("concurrency limit")]
    [InlineData("limit by key")]
    [InlineData("rate limit by key")]
    [InlineData("attempt timeout")]
    [InlineData("adaptive")]
    public async Task AnyPolicy_EachItemPaysOnce(string policy)
    {
        RetryBudget budget = new(0.5, 0, _time);
        ParallelRunOptions options = Options(budget);
        options = policy switch
        {
            "hooks" => options with { OnStartItemAsync = static _ => default, OnCompleteItemAsync = static _ => default },
            "records" => options with { ShouldRetry = RetryRule.Of<int, int>(static (_, _) => false), IsTransient = null },
            "circuit breaker" => options with { CircuitBreaker = new CircuitBreakerOptions() },
            "concurrency limit" => options with { ConcurrencyLimit = new SharedConcurrencyLimit(1) },
            "limit by key" => options with { ConcurrencyLimit = ConcurrencyLimits.ByKey<int, int>(static item => item % 2, 1) },
            "rate limit by key" => options with { RateLimit = RateLimits.ByKey<int, int>(static item => item % 2, new RateLimitOptions { TokensPerSecond = 1_000, BurstCapacity = 1 }) },
            "attempt timeout" => options with { AttemptTimeout = TimeSpan.FromMinutes(1) },
            "adaptive" => options with { AdaptiveConcurrency = new() },
            _ => options,
        };
        List<int> results = await Enumerable.Range(0, 20).SelectParallelAsync(
            async (x, _) =>
            {
                await Task.Yield();
                return x;
            },
            options with { MaxDegreeOfParallelism = 4 },
            Token);
        Assert.Equal(20, results.Count);
        Assert.Equal(10.0, budget.Balance);
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task RefusedResultAndAnEmptyBudget_TheItemHasTheResult()
    {
        RetryBudget budget = new(0.5, 0, _time);
        List<int> results = await Enumerable.Range(0, 4).SelectParallelAsync(
            (_, _) => new ValueTask<int>(Interlocked.Increment(ref _attempts)),
            Options(budget) with { MaxDegreeOfParallelism = 1, IsTransient = null, ShouldRetry = RetryRule.Of<int, int>(static (_, outcome) => outcome.HasResult) },
            Token);

        // Four items pay for two retries, and each ends with a retry that is refused.
        Assert.Equal((4, 6, 4), (results.Distinct().Count(), _attempts, budget.Refused));
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task EmptyBudget_TheItemGetsItsFallback()
    {
        RetryBudget budget = new(0, 0, _time);
        List<int> results = await Enumerable.Range(0, 3).SelectParallelAsync(
            static (_, _) => ValueTask.FromException<int>(new IOException()),
            Options(budget) with { OnFallback = Fallback.Of(static (index, _) => -index) },
            Token);
        Assert.Equal([0, -1, -2], results);
        Assert.Equal(3, budget.Refused);
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task RunsAndAChain_ShareOneBudget()
    {
        RetryBudget budget = new(0.5, 0, _time);
        await Enumerable.Range(0, 4).SelectParallelAsync(static (x, _) => new ValueTask<int>(x), Options(budget), Token);
        Assert.Equal(2.0, budget.Balance);
        PolicyChain<int> chain = new(new PolicyChainOptions<int> { Retry = Options(budget).Retry });
        await Assert.ThrowsAsync<IOException>(async () => await chain.ExecuteAsync(
            _ =>
            {
                _attempts++;
                return ValueTask.FromException<int>(new IOException());
            },
            Token));
        Assert.Equal((3, 0.5, 1), (_attempts, budget.Balance, budget.Refused));
    }

    private static ParallelRunOptions Options(RetryBudget budget) => new()
    {
        Retry = new RetryOptions { Budget = budget, BaseDelay = TimeSpan.Zero, IsTransient = static e => e is IOException },
    };
}
