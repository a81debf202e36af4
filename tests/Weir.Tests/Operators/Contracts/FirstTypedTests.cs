using System.Collections.Concurrent;
using Weir.Resilience;
using Weir.Runtimes;

namespace Weir.Tests.Operators.Contracts;

/// <summary>What is typed first compiles, and does what it says.</summary>
public class FirstTypedTests
{
    private readonly ManualTimeProvider _time = new();

    [Fact(Timeout = 90_000)]
    public async Task Options_OfPolicies_NeedNoTypeName()
    {
        ParallelRunOptions options = new()
        {
            TimeProvider = _time,
            Retry = new() { MaxRetries = 2 },
            RateLimit = new() { TokensPerSecond = 1e6 },
            CircuitBreaker = new() { FailureThreshold = 1 },
        };
        ItemOutcome<int, int>[] outcomes = await new[] { 1, 2 }.SelectParallelOutcomesAsync<int, int>(
            static (_, _) => throw new TestException("down"), options with { MaxDegreeOfParallelism = 1 });
        Assert.IsType<CircuitBreakerOpenException>(outcomes[1].Error);
        Assert.Equal(7, await new PolicyChain<int>(new() { RateLimit = new() { TokensPerSecond = 1 }, CircuitBreaker = new() }).ExecuteAsync(static _ => 7));
    }

    [Fact(Timeout = 90_000)]
    public async Task Options_SharedPolicies_NeedNoWrapping()
    {
        TokenBucket bucket = new(new() { TokensPerSecond = 1e6, BurstCapacity = 3, TimeProvider = _time });
        CircuitBreaker breaker = new(new() { FailureThreshold = 1, TimeProvider = _time });
        ParallelRunOptions options = new() { RateLimit = bucket, CircuitBreaker = breaker, TimeProvider = _time };
        Assert.Equal([1, 2], await new[] { 1, 2 }.SelectParallelAsync(static x => x, options));
        Assert.True(bucket.TryEnter());
        Assert.False(bucket.TryEnter());
        breaker.Open();
        await Assert.ThrowsAsync<CircuitBreakerOpenException>(() => new[] { 1 }.SelectParallelAsync(static x => x, options));
        options = new()
        {
            RateLimit = RateLimits.ByKey<int, int>(static x => x, new() { TokensPerSecond = 5 }),
            CircuitBreaker = CircuitBreakers.ByKey<int, int>(static x => x, new() { FailureThreshold = 3 }),
        };
        Assert.Equal([1, 2], await new[] { 1, 2 }.SelectParallelAsync(static x => x, options));
        TokenBucket? none = null;
        CircuitBreaker? noBreaker = null;
        Assert.Equal(new ParallelRunOptions(), new ParallelRunOptions { RateLimit = none, CircuitBreaker = noBreaker });
        await using ConcurrentRuntime runtime = new(2, new RuntimeOptions { Policies = new() { RateLimit = RateLimitOptions.Shared(bucket), CircuitBreaker = breaker } });
        Assert.IsType<CircuitBreakerOpenException>((await runtime.ProcessManyAsync(new[] { 1 }, static (x, _) => new ValueTask<int>(x)))[0].Error);
    }

    [Fact(Timeout = 90_000)]
    public async Task Operator_ANumberAsOptions_IsItsLimit()
    {
        ConcurrencyProbe probe = new();
        List<int> results = await Enumerable.Range(0, 50).SelectParallelAsync(
            async x =>
            {
                using (probe.Enter())
                {
                    await Task.Yield();
                    return x;
                }
            },
            4);
        Assert.Equal(Enumerable.Range(0, 50), results);
        Assert.InRange(probe.Most, 1, 4);
        Assert.Equal("MaxDegreeOfParallelism", Assert.Throws<ArgumentOutOfRangeException>(() => { _ = new[] { 1 }.SelectParallelAsync(static x => x, 0); }).ParamName);
    }

    [Fact(Timeout = 90_000)]
    public async Task Progress_OfThePlatform_GetsTheFinalReport()
    {
        ConcurrentQueue<ProgressSnapshot> reports = [];
        Collects collects = new(reports);
        await new[] { 1, 2, 3 }.SelectParallelAsync(static x => x, new() { Progress = ProgressOptions.To(collects) });
        Assert.Equal((3, true), (reports.Last().Succeeded, reports.Last().IsFinal));
        TaskCompletionSource<ProgressSnapshot> posted = new();
        await new[] { 1, 2 }.SelectParallelAsync(static x => x, new() { Progress = new Progress<ProgressSnapshot>(posted.SetResult) });
        Assert.Equal(2, (await posted.Task.WithinAsync()).Succeeded);
    }

    private sealed class Collects(ConcurrentQueue<ProgressSnapshot> reports) : IProgress<ProgressSnapshot>
    {
        public void Report(ProgressSnapshot value) => reports.Enqueue(value);
    }
}
