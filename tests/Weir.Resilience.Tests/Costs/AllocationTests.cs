#if !DEBUG
using System.Runtime.CompilerServices;

namespace Weir.Resilience.Tests.Costs;

/// <summary>What a policy may allocate when it has nothing to do: nothing. In Release only, as a Debug build has its own costs.</summary>
public class AllocationTests
{
    private const int Calls = 10_000;

    [Fact]
    public void CircuitBreaker_ClosedAndSuccess_AllocatesNothing()
    {
        var breaker = new CircuitBreaker();
        AllocatesNothing(() =>
        {
            breaker.TryEnter(out CircuitTicket ticket);
            breaker.Succeeded(ticket);
        });
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public void CircuitBreaker_ClosedWithRatio_AllocatesNothing(bool slowCalls)
    {
        // The manual clock keeps to one slice of the window; a slice is allocated when its turn comes, ten a window.
        var breaker = new CircuitBreaker(
            new CircuitBreakerOptions
            {
                FailureRatio = 0.5, SamplingDuration = TimeSpan.FromSeconds(10), TimeProvider = new TestKit.ManualTimeProvider(),
                SlowCallDuration = slowCalls ? TimeSpan.FromSeconds(1) : null,
            });
        AllocatesNothing(() =>
        {
            breaker.TryEnter(out CircuitTicket ticket);
            breaker.Succeeded(ticket);
        });
    }

    [Fact]
    public void RetryBudget_OfAChain_AllocatesNothing()
    {
        RetryBudget budget = new();
        PolicyChain<int> chain = new(new PolicyChainOptions<int> { Retry = new RetryOptions { Budget = budget } });
        AllocatesNothing(() => Assert.True(chain.ExecuteAsync(static _ => new ValueTask<int>(1)).IsCompletedSuccessfully));
        AllocatesNothing(() => budget.TryWithdraw());
    }

    [Fact]
    public void TokenBucket_NothingToWaitFor_AllocatesNothing()
    {
        var bucket = new TokenBucket(new RateLimitOptions { TokensPerSecond = 1e9, BurstCapacity = 1e9 });
        AllocatesNothing(() => Assert.True(bucket.WaitAsync().IsCompletedSuccessfully));
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public void SharedConcurrencyLimit_PlacesAreFree_AllocatesNothing(bool isAdaptive)
    {
        SharedConcurrencyLimit limit = isAdaptive ? new AdaptiveLimit() : new SharedConcurrencyLimit(1);
        AllocatesNothing(() =>
        {
            Assert.True(limit.EnterAsync().IsCompletedSuccessfully);
            limit.Leave();
            Assert.True(limit.ExecuteAsync(static (x, _) => new ValueTask<int>(x), 1).IsCompletedSuccessfully);
        });
        PolicyChain<int> chain = All(limit);
        AllocatesNothing(() => Assert.True(chain.ExecuteAsync(static _ => new ValueTask<int>(1)).IsCompletedSuccessfully));
    }

    [Fact]
    public void EveryShape_SucceedsSynchronously_AllocatesNothing()
    {
        PolicyChain<int> chain = All(new SharedConcurrencyLimit(1));
        PolicyChain any = new(new PolicyChainOptions { Retry = new RetryOptions(), AttemptTimeout = TimeSpan.FromMinutes(1) });
        SharedConcurrencyLimit limit = new(1);
        Task<int> done = Task.FromResult(1);
        AllocatesNothing(() =>
        {
            Assert.True(chain.ExecuteAsync(static (t, _) => t, done).IsCompletedSuccessfully);
            Assert.True(chain.ExecuteAsync(static (_, _) => 1, done).IsCompletedSuccessfully);
            Assert.True(chain.ExecuteAsync(static _ => 1).IsCompletedSuccessfully);
        });
        AllocatesNothing(() => EveryShape(any, done));
        AllocatesNothing(() => EveryShape(limit, done));
        AllocatesNothing(() =>
        {
            Assert.True(any.ExecuteAsync(static _ => ValueTask.CompletedTask).IsCompletedSuccessfully);
            Assert.True(limit.ExecuteAsync(static (_, _) => ValueTask.CompletedTask, done).IsCompletedSuccessfully);
        });
    }

    [Fact]
    public void ChainForAnItem_Kept_AllocatesNothing()
    {
        PolicyChain<int> chain = new PolicyChain<int>(new PolicyChainOptions<int>
        {
            CircuitBreaker = Resilience.CircuitBreakers.ByKey<string, string>(static host => host),
            ConcurrencyLimit = ConcurrencyLimits.ByKey<string, string>(static host => host, 1),
        }).For("a");
        AllocatesNothing(() => Assert.True(chain.ExecuteAsync(static _ => new ValueTask<int>(1)).IsCompletedSuccessfully));
    }

    private static void EveryShape<TPolicy>(TPolicy policy, Task<int> done)
        where TPolicy : class, ICallPolicy
    {
        Assert.True(policy.ExecuteAsync(static (t, _) => t, done).IsCompletedSuccessfully);
        Assert.True(policy.ExecuteAsync(static (_, _) => 1, done).IsCompletedSuccessfully);
        Assert.True(policy.ExecuteAsync(static _ => 1).IsCompletedSuccessfully);
        Assert.True(policy.ExecuteAsync(static _ => { }).IsCompletedSuccessfully);
        Assert.True(policy.ExecuteAsync(static (_, _) => Task.CompletedTask, done).IsCompletedSuccessfully);
        Assert.True(policy.ExecuteAsync(static _ => Task.CompletedTask).IsCompletedSuccessfully);
        Assert.True(policy.ExecuteAsync(static (_, _) => { }, done).IsCompletedSuccessfully);
    }

    [Fact]
    public void RetryPolicy_Decision_AllocatesNothing()
    {
        var policy = new RetryPolicy(new RetryOptions { BackoffStrategy = BackoffStrategy.DecorrelatedJitter });
        var error = new IOException();
        AllocatesNothing(() => policy.GetDelay(2, error, Span.Ms(100)));
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public void TimeoutPolicy_SynchronousCallInTime_AllocatesNothing(bool cancelable)
    {
        using var caller = new CancellationTokenSource();
        CancellationToken token = cancelable ? caller.Token : default;
        var policy = new TimeoutPolicy<int>();
        AllocatesNothing(() => Assert.True(policy.ExecuteAsync(static (x, _) => new ValueTask<int>(x), 1, token).IsCompletedSuccessfully));
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public void TimeoutPolicy_SuspendedCallInTime_AllocatesNothing(bool cancelable)
    {
        using var caller = new CancellationTokenSource();
        CancellationToken token = cancelable ? caller.Token : default;
        var policy = new TimeoutPolicy<int>();
        var call = new ManualCall();
        int results = 0;
        ValueTaskAwaiter<int> awaiter = default;
        Action onResult = () => results += awaiter.GetResult();
        AllocatesNothing(() =>
        {
            awaiter = policy.ExecuteAsync(static (c, t) => c.Start(t), call, token).GetAwaiter();
            awaiter.UnsafeOnCompleted(onResult);
            call.End(1);
        });
        Assert.True(results >= Calls);
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public void PolicyChain_EverythingOnAndNothingTriggered_AllocatesNothing(bool suspends)
    {
        using var caller = new CancellationTokenSource();
        PolicyChain<int> chain = All();
        var call = new ManualCall();
        int results = 0;
        ValueTaskAwaiter<int> awaiter = default;
        Action onResult = () => results += awaiter.GetResult();
        AllocatesNothing(() =>
        {
            ValueTask<int> pending = suspends
                ? chain.ExecuteAsync(static (c, t) => c.Start(t), call, caller.Token)
                : chain.ExecuteAsync(static (_, _) => new ValueTask<int>(1), call, caller.Token);
            awaiter = pending.GetAwaiter();
            if (suspends)
            {
                awaiter.UnsafeOnCompleted(onResult);
                call.End(1);
            }
            else
            {
                onResult();
            }
        });
        Assert.True(results >= Calls);
    }

    internal static PolicyChain<int> All(SharedConcurrencyLimit? limit = null) => new(new PolicyChainOptions<int>
    {
        Fallback = new FallbackOptions<int> { Handler = static (_, _) => new ValueTask<int>(0) },
        TotalTimeout = TimeSpan.FromMinutes(1),
        Retry = new RetryOptions(),
        CircuitBreaker = new CircuitBreaker(),
        RateLimit = new TokenBucket(new RateLimitOptions { TokensPerSecond = 1e9, BurstCapacity = 1e9 }),
        ConcurrencyLimit = limit,
        AttemptTimeout = TimeSpan.FromSeconds(30),
    });

    private static void AllocatesNothing(Action call) => Assert.Equal(0, Allocated.Least(() =>
    {
        for (int i = 0; i < Calls; i++)
        {
            call();
        }
    }));
}
#endif
