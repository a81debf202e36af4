namespace Weir.Resilience.Tests.Retry;

/// <summary>A retry budget for each key: one that fails takes no retries from the others.</summary>
public sealed class RetryBudgetsTests
{
    private readonly ManualTimeProvider _clock = new();

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Chain_OneKeyFails_ItsRetriesAreATenthOfItsCallsAndTheOthersHaveTheirs(bool results)
    {
        RetryBudgets<string> budgets = RetryBudgets.ByKey<string, string>(static host => host, 0.1, 0, timeProvider: _clock);
        PolicyChain<int> chain = new(new PolicyChainOptions<int>
        {
            Retry = new RetryOptions { BaseDelay = TimeSpan.Zero, Budget = budgets },
            ShouldRetry = results ? static outcome => !outcome.HasResult || outcome.Result < 0 : null,
            TimeProvider = _clock,
        });
        int attempts = 0;
        for (int i = 0; i < 100; i++)
        {
            ValueTask<int> call = chain.For("a").ExecuteAsync(_ =>
            {
                attempts++;
                return results ? new ValueTask<int>(-1) : throw new TimeoutException();
            });
            if (results)
            {
                Assert.Equal(-1, await call);
            }
            else
            {
                await Assert.ThrowsAsync<TimeoutException>(async () => await call);
            }

            Assert.Equal(1, await chain.For("b").ExecuteAsync(static _ => new ValueTask<int>(1)));
        }

        Assert.Equal((110, 0.0, 10.0), (attempts, budgets.Get("a").Balance, Math.Round(budgets.Get("b").Balance, 6)));
        Assert.Equal((2, 0L), (budgets.Count, budgets.Get("b").Refused));
        Assert.Equal(["a", "b"], budgets.GetAll().Select(static b => b.Key).Order());
    }

    // What a key has saved keeps nothing: with as many keys as users, each has saved something.
    [Fact]
    public void Keys_ThatAreNotUsedAnyMore_AreForgotten()
    {
        RetryBudgets<int> budgets = RetryBudgets.ByKey<int, int>(static key => key, timeProvider: _clock);
        for (int key = 0; key < 20_000; key++)
        {
            budgets.Get(key).Deposit();
        }

        Assert.InRange(budgets.Count, 1, 4_096);
    }

    // A new budget would allow its floor once more.
    [Fact]
    public void Key_WhoseFloorIsSpent_IsNotForgottenUntilItIsBack()
    {
        RetryBudgets<int> budgets = RetryBudgets.ByKey<int, int>(static key => key, timeProvider: _clock);
        RetryBudget spent = budgets.Get(-1);
        Assert.True(spent.TryWithdraw());
        for (int key = 0; key < 20_000; key++)
        {
            budgets.Get(key);
        }

        Assert.Same(spent, budgets.Get(-1));
        _clock.Advance(TimeSpan.FromSeconds(1));
        for (int key = 0; key < 20_000; key++)
        {
            budgets.Get(key);
        }

        Assert.NotSame(spent, budgets.Get(-1));
    }

    [Fact]
    public void Options_Wrong_AreNamed()
    {
        Assert.Equal("ratio", Assert.Throws<ArgumentOutOfRangeException>(() => RetryBudgets.ByKey<int, int>(static key => key, 2)).ParamName);
        Assert.Equal("key", Assert.Throws<ArgumentNullException>(() => RetryBudgets.ByKey<int, int>(null!)).ParamName);
        RetryBudgets budgets = RetryBudgets.ByKey<int, int>(static key => key, name: "shop");
        Assert.Equal("shop", budgets.Name);
        Assert.Throws<ArgumentException>(() => new RetryPolicy(new RetryOptions { Budget = budgets }));
        Assert.Equal("Budget", Assert.Throws<ArgumentException>(() => new PolicyChain(new PolicyChainOptions { Retry = new() { Budget = new Strange() } })).ParamName);
        PolicyChain chain = new(new PolicyChainOptions { Retry = new() { Budget = budgets } });
        Assert.Throws<ArgumentException>(() => chain.For("text"));
    }

    private sealed class Strange : IRetryBudgetSetting;
}
