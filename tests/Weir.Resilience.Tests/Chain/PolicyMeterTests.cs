using System.Collections.Concurrent;
using System.Diagnostics.Metrics;
using System.Runtime.CompilerServices;
using Breakers = Weir.Resilience.CircuitBreakers;

namespace Weir.Resilience.Tests.Chain;

/// <summary>What listeners get of single calls, and of the policies that calls share. Each test has a name of its own, because others run meanwhile.</summary>
public sealed class PolicyMeterTests
{
    private const int Limit = 60_000;

    private readonly ManualTimeProvider _time = new();

    [Fact(Timeout = Limit)]
    public async Task Calls_OfAChain_AreCountedByOutcome()
    {
        const string Name = "calls";
        using Listener listener = new(Name);
        PolicyChain<int> chain = new(new() { Name = Name });
        Assert.Equal(1, await chain.ExecuteAsync(static _ => new ValueTask<int>(1)));
        await chain.ExecuteAsync(static async _ =>
        {
            await Task.Yield();
            return 1;
        });
        await Assert.ThrowsAsync<FormatException>(async () => await chain.ExecuteAsync(static _ => throw new FormatException()));
        await Assert.ThrowsAsync<TimeoutException>(async () => await chain.ExecuteAsync(static _ => throw new TimeoutException()));
        using CancellationTokenSource stop = new();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(async () => await chain.ExecuteAsync(
            async token =>
            {
                await stop.CancelAsync();
                token.ThrowIfCancellationRequested();
                return 1;
            },
            stop.Token));
        Assert.Equal(
            [
                "weir.policy.calls cancelled: 1",
                "weir.policy.calls failed System.FormatException: 1",
                "weir.policy.calls succeeded: 2",
                "weir.policy.calls timed_out System.TimeoutException: 1",
            ],
            listener.Counted);
    }

    [Fact(Timeout = Limit)]
    public async Task Retries_ThatABudgetRefused_AreCountedUnderItsName()
    {
        const string Name = "budget";
        using Listener listener = new(Name);
        PolicyChain<int> chain = new(new()
        {
            Retry = new RetryOptions { BaseDelay = TimeSpan.Zero, Budget = new RetryBudget(0.5, 0) { Name = Name } },
        });
        for (int call = 0; call < 2; call++)
        {
            await Assert.ThrowsAsync<TimeoutException>(async () => await chain.ExecuteAsync(static _ => throw new TimeoutException()));
        }

        Assert.Equal(["weir.policy.refused_retries: 2"], listener.Counted);
    }

    [Fact(Timeout = Limit)]
    public async Task Rejections_OfEachPolicy_AreCountedByReason()
    {
        const string Name = "rejections";
        using Listener listener = new(Name);
        AdaptiveLimit limit = new(new() { Name = Name, MaxWaiting = 1, NewestFirst = true, Adaptive = new() { MaxConcurrency = 1 }, TimeProvider = _time });
        await limit.ExecuteAsync(static (clock, _) =>
        {
            clock.Advance(TimeSpan.FromSeconds(1));
            return new ValueTask<int>(0);
        }, _time);
        Assert.True(limit.TryEnter());
        for (int i = 0; limit.GetSnapshot().Latency is null && i < 200; i++)
        {
            limit.Leave();
            await limit.ExecuteAsync(static (clock, _) =>
            {
                clock.Advance(TimeSpan.FromSeconds(1));
                return new ValueTask<int>(0);
            }, _time);
            Assert.True(limit.TryEnter());
        }

        // Each takes the only place in the queue from the one before it, or is refused.
        LimitShare hurried = limit.With(within: TimeSpan.FromMilliseconds(1));
        await Assert.ThrowsAsync<ConcurrencyLimitRejectedException>(async () => await hurried.ExecuteAsync(static _ => new ValueTask<int>(1)));
        Task background = limit.With(CallPriority.Background).ExecuteAsync(static _ => new ValueTask<int>(1)).AsTask();
        Task older = limit.ExecuteAsync(static _ => new ValueTask<int>(1)).AsTask();
        await Assert.ThrowsAsync<ConcurrencyLimitRejectedException>(() => background);
        Task newer = limit.ExecuteAsync(static _ => new ValueTask<int>(1)).AsTask();
        await Assert.ThrowsAsync<ConcurrencyLimitRejectedException>(() => older);
        await Assert.ThrowsAsync<ConcurrencyLimitRejectedException>(
            async () => await limit.With(CallPriority.Background).ExecuteAsync(static _ => new ValueTask<int>(1)));
        limit.Leave();
        await newer.WithinAsync();

        PolicyChainOptions options = new() { TotalTimeout = TimeSpan.FromSeconds(1), TimeProvider = _time };
        TokenBucket bucket = new(new() { Name = Name, TokensPerSecond = 0.01, BurstCapacity = 1, TimeProvider = _time });
        Assert.True(bucket.TryEnter());
        await Assert.ThrowsAsync<RateLimitRejectedException>(
            async () => await new PolicyChain(options with { RateLimit = bucket }).ExecuteAsync(static _ => new ValueTask<int>(1)));
        CircuitBreaker breaker = new(new() { Name = Name, TimeProvider = _time });
        breaker.Open();
        await Assert.ThrowsAsync<CircuitBreakerOpenException>(async () => await new PolicyChain(
            options with { CircuitBreaker = breaker, OpenCircuitMode = OpenCircuitMode.WaitForHalfOpen }).ExecuteAsync(static _ => new ValueTask<int>(1)));
        Assert.Equal(
            [
                "weir.policy.rejections circuit_breaker deadline: 1",
                "weir.policy.rejections concurrency_limit deadline: 1",
                "weir.policy.rejections concurrency_limit newest_first: 1",
                "weir.policy.rejections concurrency_limit priority: 1",
                "weir.policy.rejections concurrency_limit queue_full: 1",
                "weir.policy.rejections rate_limit deadline: 1",
            ],
            listener.Counted);
    }

    [Fact(Timeout = Limit)]
    public async Task Retries_AndAnOpenCircuitAndAFallback_AreCounted()
    {
        const string Name = "refused";
        using Listener listener = new(Name);
        CircuitBreaker breaker = new(new() { Name = Name, FailureThreshold = 2, TimeProvider = _time });
        PolicyChain<int> chain = new(new()
        {
            Name = Name,
            CircuitBreaker = breaker,
            Retry = new RetryOptions { MaxRetries = 2, BaseDelay = TimeSpan.Zero, IsTransient = static e => e is FormatException },
        });
        PolicyChain<int> falls = new(new()
        {
            Name = Name, CircuitBreaker = breaker, Fallback = new FallbackOptions<int> { Handler = static (_, _) => new ValueTask<int>(7) },
        });

        // Two failures open the circuit, and it refuses the third attempt.
        await Assert.ThrowsAsync<CircuitBreakerOpenException>(async () => await chain.ExecuteAsync(static _ => throw new FormatException()));
        Assert.Equal(7, await falls.ExecuteAsync(static _ => new ValueTask<int>(1)));
        Assert.Equal(
            [
                $"weir.policy.calls failed {typeof(CircuitBreakerOpenException)}: 1",
                "weir.policy.calls succeeded: 1",
                $"weir.policy.fallbacks {typeof(CircuitBreakerOpenException)}: 1",
                "weir.policy.retries System.FormatException: 2",
            ],
            listener.Counted);
        Assert.Equal(
            ["weir.policy.circuit_breakers closed: 0", "weir.policy.circuit_breakers half_open: 0", "weir.policy.circuit_breakers open: 1"], listener.Read());
    }

    [Fact(Timeout = Limit)]
    public async Task Retries_BecauseOfAResult_HaveNoError()
    {
        const string Name = "results";
        using Listener listener = new(Name);
        int calls = 0;
        PolicyChain<int> chain = new(new()
        {
            Name = Name,
            Retry = new RetryOptions { MaxRetries = 2, BaseDelay = TimeSpan.Zero },
            ShouldRetry = static outcome => outcome.Result < 2,
        });
        Assert.Equal(2, await chain.ExecuteAsync(_ => new ValueTask<int>(++calls)));
        Assert.Equal(["weir.policy.calls succeeded: 1", "weir.policy.retries: 1"], listener.Counted);
    }

    [Fact(Timeout = Limit)]
    public void States_OfKeys_AreCountedAlsoWhileNothingCalls()
    {
        const string Name = "hosts";
        Breakers breakers = Breakers.ByKey<string, string>(
            static host => host, new() { Name = Name, FailureThreshold = 1, SuccessThreshold = 1, TimeProvider = _time });
        IKeyed<string, CircuitBreaker> byKey = (IKeyed<string, CircuitBreaker>)breakers;
        using Listener listener = new(Name);
        foreach (string host in (string[])["host1", "host2", "host3"])
        {
            KeyUse<CircuitBreaker> use = byKey.Use(host);
            Assert.True(use.Policy.TryEnter(out CircuitTicket ticket));
            use.Policy.Report(ticket, host == "host2" ? new FormatException() : null);
            use.Release();
        }

        Assert.Equal(
            ["weir.policy.circuit_breakers closed: 2", "weir.policy.circuit_breakers half_open: 0", "weir.policy.circuit_breakers open: 1"], listener.Read());
        _time.Advance(TimeSpan.FromMinutes(1));
        Assert.True(byKey.Use("host2").Policy.TryEnter(out _));
        Assert.Equal(
            ["weir.policy.circuit_breakers closed: 2", "weir.policy.circuit_breakers half_open: 1", "weir.policy.circuit_breakers open: 0"], listener.Read());
        Assert.Equal((Name, 3), (breakers.Name, breakers.Count));
    }

    [Fact(Timeout = Limit)]
    public async Task States_OfLimits_ShowWhatIsInUseAndWhatWaits()
    {
        const string Name = "limits";
        SharedConcurrencyLimit limit = new(2) { Name = Name };
        ConcurrencyLimits limits = ConcurrencyLimits.ByKey<string, string>(static key => key, 3, name: Name);
        TokenBucket bucket = new(new() { Name = Name, TokensPerSecond = 1, BurstCapacity = 1, TimeProvider = _time });
        RateLimits rates = RateLimits.ByKey<string, string>(static key => key, new() { Name = Name, TimeProvider = _time });
        using Listener listener = new(Name);
        Assert.True(limit.TryEnter());
        Assert.True(limit.TryEnter());
        using CancellationTokenSource stop = new();
        Task place = limit.EnterAsync(stop.Token).AsTask();
        Assert.True(bucket.TryEnter());
        Task tokens = bucket.WaitAsync(stop.Token).AsTask();
        Assert.True(((IKeyed<string, SharedConcurrencyLimit>)limits).Use("a").Policy.TryEnter());
        Assert.Equal(
            [
                "weir.policy.in_use: 3", "weir.policy.limit: 5", "weir.policy.waiting concurrency_limit: 1", "weir.policy.waiting rate_limit: 1",
            ],
            listener.Read());
        await stop.CancelAsync();
        await Task.WhenAll(place, tokens).ContinueWith(static _ => { }, TaskScheduler.Default).WithinAsync();
        limit.Leave();
        Assert.Equal(
            [
                "weir.policy.in_use: 2", "weir.policy.limit: 5", "weir.policy.waiting concurrency_limit: 0", "weir.policy.waiting rate_limit: 0",
            ],
            listener.Read());
        GC.KeepAlive((limit, limits, bucket, rates));
    }

    [Fact(Timeout = Limit)]
    public async Task States_OfPoliciesThatNobodyHas_AreZeroAndKeepNothing()
    {
        const string Name = "forgotten";
        using Listener listener = new(Name);
        (WeakReference Policy, WeakReference Key)[] gone = [.. Enumerable.Range(0, 300).Select(i => Make(Name, i, listener))];

        // Another test's listener may be reading them.
        await Leak.GoneAsync([.. gone.SelectMany(static g => new[] { g.Policy, g.Key })], "policies that nobody has");
        Assert.Equal(
            ["weir.policy.circuit_breakers closed: 0", "weir.policy.circuit_breakers half_open: 0", "weir.policy.circuit_breakers open: 0"], listener.Read());
    }

    [Fact(Timeout = Limit)]
    public async Task Listener_Throws_ChangesNothing()
    {
        const string Name = "throws";
        using Listener listener = new(Name) { Throws = true };
        int calls = 0;
        PolicyChain<int> chain = new(new()
        {
            Name = Name,
            Retry = new RetryOptions { MaxRetries = 1, BaseDelay = TimeSpan.Zero, IsTransient = static _ => true },
            Fallback = new FallbackOptions<int> { Handler = static (_, _) => new ValueTask<int>(7) },
        });
        Assert.Equal(7, await chain.ExecuteAsync(_ =>
        {
            calls++;
            throw new FormatException();
        }));
        Assert.Equal((2, 3), (calls, listener.Thrown));
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static (WeakReference Policy, WeakReference Key) Make(string name, int number, Listener listener)
    {
        string key = $"key {number}";
        Breakers breakers = Breakers.ByKey<string, string>(static host => host, new() { Name = name });
        ((IKeyed<string, CircuitBreaker>)breakers).Use(key).Release();
        if (number == 0)
        {
            Assert.Equal("weir.policy.circuit_breakers closed: 1", listener.Read()[0]);
        }

        return (new WeakReference(breakers), new WeakReference(key));
    }

    /// <summary>Keeps what concerns the policies of one name: the instrument, then the other attributes, then the value.</summary>
    private sealed class Listener : IDisposable
    {
        private readonly MeterListener _listener = new();
        private readonly ConcurrentDictionary<string, long> _counts = new(StringComparer.Ordinal);
        private readonly SortedDictionary<string, long> _states = new(StringComparer.Ordinal);
        private readonly string _name;
        private int _thrown;

        public Listener(string name)
        {
            _name = name;
            _listener.InstrumentPublished = static (instrument, listener) =>
            {
                if (instrument.Meter.Name == "Weir" && instrument.Name.StartsWith("weir.policy.", StringComparison.Ordinal))
                {
                    listener.EnableMeasurementEvents(instrument);
                }
            };
            _listener.SetMeasurementEventCallback<long>((instrument, value, tags, _) => Keep(instrument, value, tags));
            _listener.Start();

            // The instruments are created with the next policy, or some seconds later.
            _ = new SharedConcurrencyLimit(1);
        }

        public bool Throws { get; init; }

        public int Thrown => Volatile.Read(ref _thrown);

        public IEnumerable<string> Counted => _counts.OrderBy(static c => c.Key, StringComparer.Ordinal).Select(static c => $"{c.Key}: {c.Value}");

        public List<string> Read()
        {
            _states.Clear();
            _listener.RecordObservableInstruments();
            return [.. _states.Select(static s => $"{s.Key}: {s.Value}")];
        }

        public void Dispose() => _listener.Dispose();

        private void Keep(Instrument instrument, long value, ReadOnlySpan<KeyValuePair<string, object?>> tags)
        {
            if (tags.Length == 0 || tags[0].Key != "weir.policy.name" || !_name.Equals(tags[0].Value))
            {
                return;
            }

            if (Throws)
            {
                Interlocked.Increment(ref _thrown);
                throw new InvalidTimeZoneException();
            }

            string what = instrument.Name;
            foreach ((_, object? tag) in tags[1..])
            {
                what += $" {tag}";
            }

            if (instrument.IsObservable)
            {
                _states[what] = value;
            }
            else
            {
                _counts.AddOrUpdate(what, value, (_, sum) => sum + value);
            }
        }
    }
}
