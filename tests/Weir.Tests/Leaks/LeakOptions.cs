using Weir.Resilience;
using static Weir.Tests.Leaks.TrackedRun;

namespace Weir.Tests.Leaks;

/// <summary>Options of which each could hold something of a run. They and all that they share live on while the runs are collected.</summary>
internal static class LeakOptions
{
    /// <summary>The options.</summary>
    /// <typeparam name="TItem">The type of the operator's items.</typeparam>
    /// <param name="hasResults">Whether the operator has results.</param>
    /// <param name="isRuns">Whether they are for a whole run, and not for the items of a runtime's call.</param>
    public static List<(string Name, ParallelRunOptions Options)> All<TItem>(bool hasResults, bool isRuns)
    {
        ParallelRunOptions few = new() { MaxDegreeOfParallelism = 2, BaseDelay = TimeSpan.Zero, BackoffStrategy = BackoffStrategy.Exponential };
        CircuitBreakerOptions circuit = new() { FailureThreshold = int.MaxValue };
        RateLimitOptions rate = new() { TokensPerSecond = 1_000_000, BurstCapacity = 1_000_000 };
        SharedConcurrencyLimit limit = new(3);
        List<(string, ParallelRunOptions)> all =
        [
            ("nothing", few),
            ("many in flight", few with { MaxDegreeOfParallelism = 100 }),
            ("CollectAndContinue", few with { ErrorMode = ErrorMode.CollectAndContinue }),
            ("BestEffort", few with { ErrorMode = ErrorMode.BestEffort }),
            ("OrderedOutput", few with { OrderedOutput = true, ChannelCapacity = 1 }),
            ("IncludeDetails", few with { Output = new() { IncludeDetails = true, ReturnOutcomesOnCancellation = true } }),
            ("hooks", few with { OnStartItemAsync = YieldAsync, OnCompleteItemAsync = YieldAsync, OnErrorAsync = static (_, _) => new(true) }),
            ("pause hooks", few with { OnThrottleAsync = YieldAsync, OnDrainAsync = YieldAsync }),
            ("hooks of items", few with { Hooks = new ItemHooks<TItem> { OnStartItemAsync = static _ => default, OnErrorAsync = static _ => new(true) } }),
            ("retries", few with { MaxRetries = 2, IsTransient = static _ => true, OnRetryAsync = static (_, _, _) => default }),
            ("AttemptTimeout", few with { AttemptTimeout = TimeSpan.FromMilliseconds(5) }),
            ("AttemptTimeout inside policies", few with { AttemptTimeout = TimeSpan.FromMilliseconds(5), ConcurrencyLimit = limit, MaxRetries = 1 }),
            ("CircuitBreaker", few with { CircuitBreaker = circuit }),
            ("SharedCircuitBreaker", few with { CircuitBreaker = new CircuitBreaker(circuit), OpenCircuitMode = OpenCircuitMode.WaitForHalfOpen }),
            ("CircuitBreakerByKey", few with { CircuitBreaker = CircuitBreakers.ByKey<TItem, int>(KeyOf, circuit) }),
            ("RateLimit", few with { RateLimit = rate }),
            ("SharedRateLimit", few with { RateLimit = new TokenBucket(rate) }),
            ("RateLimitByKey", few with { RateLimit = RateLimits.ByKey<TItem, int>(KeyOf, rate) }),
            ("SharedConcurrencyLimit", few with { ConcurrencyLimit = limit }),
            ("SharedConcurrencyLimit of 1", few with { ConcurrencyLimit = new SharedConcurrencyLimit(1) }),
            ("ConcurrencyLimitByKey", few with { ConcurrencyLimit = ConcurrencyLimits.ByKey<TItem, int>(KeyOf, 2) }),
            ("ConcurrencyLimitByKey of 1", few with { ConcurrencyLimit = ConcurrencyLimits.ByKey<TItem, int>(KeyOf, 1), MaxRetries = 1 }),
            ("name and tags", few with { OperationName = "leaks", Metrics = new() { Tags = [new("kind", "leak")] } }),
            ("Progress", few with { Progress = new ProgressOptions { OnProgressAsync = static _ => default } }),
            ("Metrics", few with { Metrics = new MetricsOptions { OnMetricsSample = static _ => default } }),
        ];
        if (hasResults)
        {
            all.Add(("OnFallback", few with { OnFallback = Fallback.Of<Result>(static (_, _) => null!) }));
            all.Add(("OnFallback with the item", few with { OnFallback = Fallback.Of<TItem, Result>(static _ => null!) }));
            all.Add(("ShouldRetry", few with { MaxRetries = 1, ShouldRetry = RetryRule.Of<Result>(static outcome => outcome.HasResult) }));
        }

        if (isRuns)
        {
            all.Add(("AdaptiveConcurrency", few with { AdaptiveConcurrency = new AdaptiveConcurrencyOptions { MaxConcurrency = 4 } }));
            all.Add(("Control", few with { Control = new RunControl() }));
        }

        return all;
    }

    private static int KeyOf<TItem>(TItem item) => item switch
    {
        Item one => one.Index % 2,
        IReadOnlyList<Item> batch => batch[0].Index % 2,
        _ => 0,
    };

    private static async ValueTask YieldAsync(int index) => await Task.Yield();
}
