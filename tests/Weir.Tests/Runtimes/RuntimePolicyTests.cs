using System.Collections.Concurrent;
using Weir.Resilience;
using Weir.Runtimes;

namespace Weir.Tests.Runtimes;

/// <summary>The policies of the operators around the items of every runtime.</summary>
public sealed class RuntimePolicyTests : IDisposable
{
    private static readonly ParallelRunOptions Retries = new() { MaxRetries = 3, BaseDelay = TimeSpan.Zero, IsTransient = static e => e is TestException };

    private readonly Gate _gate = new();

    public void Dispose() => _gate.Dispose();

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public async Task Items_WithRetriesRulesHooksAndAFallback_EndAsOnAnOperator(string name, RunForm form)
    {
        ConcurrentDictionary<int, int> calls = new();
        ConcurrentBag<string> log = [];
        ParallelRunOptions policies = new()
        {
            MaxRetries = 2,
            BaseDelay = TimeSpan.Zero,
            ShouldRetry = RetryRule.Of<int, int>(
                static (item, attempt) => attempt.HasResult ? item % 10 == 4 && attempt.Attempt == 1 : attempt.Exception is TestException),
            OnFallback = Fallback.Of(static (index, _) => -index),
            Hooks = new ItemHooks<int>
            {
                OnRetryAsync = attempt =>
                {
                    log.Add($"{attempt.Item} {attempt.Attempt} {attempt.Error!.GetType().Name}");
                    return default;
                },
            },
        };
        async ValueTask<int> CallAsync(int item, CancellationToken token)
        {
            int call = calls.AddOrUpdate(item, 1, static (_, made) => made + 1);
            if (item % 3 == 0)
            {
                await Task.Yield();
            }

            return item % 10 == 2 && call == 1 ? throw new TestException("once")
                : item % 10 == 7 ? throw new TestException("always")
                : item % 10 == 9 ? throw new FormatException()
                : 2 * item;
        }

        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        ItemOutcome<int, int>[] outcomes = await RuntimeRun.Start(
            form, runtime, RuntimeRun.Count(40), CallAsync, new ProcessManyOptions { Policies = policies }).WithinAsync("the call");
        Assert.All(outcomes, static (o, i) => Assert.Equal((ItemStatus.Succeeded, i % 10 is 7 or 9 ? -i : 2 * i), (o.Status, o.Value)));
        Assert.All(Enumerable.Range(0, 40), i => Assert.Equal(i % 10 == 7 ? 3 : i % 10 is 2 or 4 ? 2 : 1, calls[i]));
        Assert.Equal(
            new[] { 2, 12, 22, 32 }.Select(static i => $"{i} 1 TestException")
                .Concat(new[] { 4, 14, 24, 34 }.Select(static i => $"{i} 1 ResultRejectedException"))
                .Concat(new[] { 7, 17, 27, 37 }.SelectMany(static i => new[] { $"{i} 1 TestException", $"{i} 2 TestException" }))
                .Order(StringComparer.Ordinal),
            log.Order(StringComparer.Ordinal));
        runtime.AssertIdle(40, 0);
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public async Task Keys_WithRetries_KeepTheirOrder(string name, RunForm form)
    {
        ConcurrentDictionary<int, ConcurrentQueue<int>> order = new();
        ConcurrentDictionary<int, int> calls = new();
        await using IExecutionRuntime runtime = RuntimeCases.Create(name, new RuntimeOptions { Policies = Retries });
        async ValueTask<int> CallAsync(int item, CancellationToken token)
        {
            await Task.Yield();
            if (calls.AddOrUpdate(item, 1, static (_, made) => made + 1) < 3 && item % 4 == 1)
            {
                throw new TestException("again");
            }

            order.GetOrAdd(item % 3, static _ => new()).Enqueue(item);
            return item;
        }

        ItemOutcome<int, int>[] outcomes =
            await RuntimeRun.Start(form, runtime, RuntimeRun.Count(60).PartitionBy(static item => item % 3), CallAsync).WithinAsync("the call");
        Assert.Equal(Enumerable.Range(0, 60), outcomes.Select(static o => o.Value));
        Assert.All(order.Values, static items => Assert.Equal(items.Order(), items));
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.Every), MemberType = typeof(RuntimeCases))]
    public async Task PoliciesOfTheRuntime_AllCallsShareTheBreaker_AndACallMayHaveItsOwn(string name)
    {
        int calls = 0;
        await using IExecutionRuntime runtime = RuntimeCases.Create(name, new RuntimeOptions
        {
            Policies = new ParallelRunOptions { CircuitBreaker = new CircuitBreakerOptions { FailureThreshold = 1, OpenTimeout = TimeSpan.FromDays(1) } },
        });
        ValueTask<int> Fail(int item, CancellationToken token)
        {
            Interlocked.Increment(ref calls);
            throw new TestException("down");
        }

        Assert.IsType<TestException>((await runtime.ProcessManyAsync<int, int>([0], Fail).WithinAsync())[0].Error);
        Assert.IsType<CircuitBreakerOpenException>((await runtime.ProcessManyAsync<int, int>([0], Fail).WithinAsync())[0].Error);
        Assert.Equal(1, calls);
        ProcessManyOptions own = new() { Policies = Retries };
        Assert.IsType<TestException>((await runtime.ProcessManyAsync<int, int>([0], Fail, own).WithinAsync())[0].Error);
        Assert.Equal(5, calls);
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.Every), MemberType = typeof(RuntimeCases))]
    public async Task RateLimit_OfTheRuntime_HoldsOverItsCalls(string name)
    {
        ManualTimeProvider clock = new();
        await using IExecutionRuntime runtime = RuntimeCases.Create(name, new RuntimeOptions
        {
            TimeProvider = clock,
            Policies = new ParallelRunOptions { RateLimit = new RateLimitOptions { TokensPerSecond = 1, BurstCapacity = 2 } },
        });
        int calls = 0;
        ValueTask<int> Call(int item, CancellationToken token) => new(Interlocked.Increment(ref calls));

        Task<ItemOutcome<int, int>[]> first = Task.Run(() => runtime.ProcessManyAsync([0, 1], Call));
        await first.WithinAsync("the burst");
        Task<ItemOutcome<int, int>[]> second = Task.Run(() => runtime.ProcessManyAsync([0], Call));
        await Guard.UntilAsync(() => clock.NextDue is not null, "the wait for a token");
        Assert.Equal(2, Volatile.Read(ref calls));
        clock.Advance(TimeSpan.FromSeconds(1));
        Assert.True((await second.WithinAsync("the second call"))[0].IsSuccess);
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.Every), MemberType = typeof(RuntimeCases))]
    public async Task TimeLimits_OfThePolicies_EndAttemptsAndItems(string name)
    {
        ManualTimeProvider clock = new();
        await using IExecutionRuntime runtime = RuntimeCases.Create(name, clock);
        int calls = 0;
        async ValueTask<int> CallAsync(int item, CancellationToken token)
        {
            if (Interlocked.Increment(ref calls) == 1)
            {
                await _gate.WaitAsync(CancellationToken.None);
            }

            return 7;
        }

        Task<ItemOutcome<int, int>[]> again = Task.Run(() => runtime.ProcessManyAsync(
            [0],
            CallAsync,
            new ProcessManyOptions { Policies = Retries with { MaxRetries = 100, IsTransient = null, AttemptTimeout = TimeSpan.FromSeconds(1) } }));
        await Guard.UntilAsync(() => Volatile.Read(ref calls) == 1, "the first attempt");
        await clock.PassAsync(TimeSpan.FromSeconds(1), again);
        Assert.Equal(7, (await again.WithinAsync("the second attempt"))[0].Value);

        calls = 0;
        Task<ItemOutcome<int, int>[]> never = Task.Run(() => runtime.ProcessManyAsync(
            [0], CallAsync, new ProcessManyOptions { Policies = Retries with { PerItemTimeout = TimeSpan.FromSeconds(1) } }));
        await Guard.UntilAsync(() => Volatile.Read(ref calls) == 1, "the item");
        await clock.PassAsync(TimeSpan.FromSeconds(1), never);
        RuntimeRun.AssertTimedOut((await never.WithinAsync("the item's limit"))[0]);
        _gate.Open();
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.Every), MemberType = typeof(RuntimeCases))]
    public async Task TotalConcurrency_WithPolicies_HoldsOverAllCalls(string name)
    {
        const int total = 2;
        await using IExecutionRuntime runtime = RuntimeCases.Create(name, new RuntimeOptions { TotalConcurrency = total, Policies = Retries });
        ConcurrencyProbe probe = new();
        ConcurrentDictionary<int, int> calls = new();
        async ValueTask<int> CallAsync(int item, CancellationToken token)
        {
            using (probe.Enter())
            {
                await Task.Yield();
                return item % 5 == 0 && calls.AddOrUpdate(item, 1, static (_, made) => made + 1) == 1 ? throw new TestException("again") : item;
            }
        }

        Task<ItemOutcome<int, int>[]>[] all = [.. Enumerable.Range(0, 8).Select(call => Task.Run(() => runtime.ProcessManyAsync(
            Enumerable.Range(100 * call, 20).ToArray(), CallAsync, call % 2 == 0 ? null : new ProcessManyOptions { Policies = Retries })))];
        Assert.All(await Task.WhenAll(all).WithinAsync("all calls"), static outcomes => Assert.All(outcomes, static o => Assert.True(o.IsSuccess)));
        Assert.InRange(probe.Most, 1, total);
    }

    [Fact(Timeout = 90_000)]
    public async Task DirectRuntime_WithPolicies_RunsOneItemAtATimeOnTheCallersThreadWhateverAControlSays()
    {
        await using DirectRuntime runtime = new();
        int caller = Environment.CurrentManagedThreadId;
        Task<ItemOutcome<int, int>[]> call = runtime.ProcessManyAsync(
            RuntimeRun.Count(20), static (_, _) => new ValueTask<int>(Environment.CurrentManagedThreadId), new ProcessManyOptions { Policies = Retries });
        Assert.All(await call, o => Assert.Equal(caller, o.Value));

        ConcurrencyProbe probe = new();
        await runtime.ProcessManyAsync(
            RuntimeRun.Count(20),
            async (_, _) =>
            {
                using (probe.Enter())
                {
                    await Task.Yield();
                    return 0;
                }
            },
            new ProcessManyOptions { Policies = Retries, Control = new RunControl { MaxDegreeOfParallelism = 8 } }).WithinAsync("the call");
        Assert.Equal(1, probe.Most);
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.Every), MemberType = typeof(RuntimeCases))]
    public async Task Policies_ThatDoNotFit_AreRefusedAtTheCall(string name)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        Refused<ArgumentException>("AdaptiveConcurrency", new() { AdaptiveConcurrency = new AdaptiveConcurrencyOptions() });
        Refused<ArgumentException>("Control", new() { Control = new RunControl() });
        Refused<ArgumentOutOfRangeException>("MaxRetries", new() { MaxRetries = -1 });
        Refused<ArgumentException>("OnFallback", new() { OnFallback = Fallback.Of(static (_, _) => "text") });
        Refused<ArgumentException>("Hooks", new() { Hooks = new ItemHooks<string>() });

        SharedConcurrencyLimit shared = new(1);
        RuntimeOptions limited = new() { TotalConcurrency = 1, Policies = new ParallelRunOptions { ConcurrencyLimit = shared } };
        Assert.Throws<ArgumentException>("ConcurrencyLimit", () => RuntimeCases.Create(name, limited));
        await using IExecutionRuntime other = RuntimeCases.Create(name, limited with { Policies = null });
        Assert.Throws<ArgumentException>("ConcurrencyLimit", () =>
        {
            _ = other.ProcessManyAsync([1], static (x, _) => new ValueTask<int>(x), new ProcessManyOptions { Policies = limited.Policies });
        });

        void Refused<TException>(string property, ParallelRunOptions policies)
            where TException : ArgumentException
        {
            ProcessManyOptions options = new() { Policies = policies };
            Assert.Throws<TException>(property, () => { _ = runtime.ProcessManyAsync([1], static (x, _) => new ValueTask<int>(x), options); });
            Assert.Throws<TException>(property, () => { _ = runtime.ProcessManyStreamAsync([1], static (x, _) => new ValueTask<int>(x), false, options); });
        }
    }
}
