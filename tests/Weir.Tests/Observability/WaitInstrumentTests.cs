using System.Diagnostics.Tracing;
using Weir.Observability;
using Weir.Resilience;
using Weir.TestKit;
using Weir.Tests.Operators.Budgets;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Observability;

/// <summary>What items wait for, and the states of circuits. Alone, because the meter is one for the whole process.</summary>
[Collection(nameof(Alone))]
public sealed class WaitInstrumentTests
{
    private static readonly TimeSpan Second = TimeSpan.FromSeconds(1);

    private readonly string _name = $"waits.{Guid.NewGuid():N}";
    private readonly ManualTimeProvider _time = new();

    private ParallelRunOptions Options => new() { OperationName = _name, TimeProvider = _time, MaxDegreeOfParallelism = 4 };

    [Fact(Timeout = 90_000)]
    public async Task Items_ThatWaitForARetry_AreShownAsSuch()
    {
        using RunListener listener = new(_name);
        int calls = 0;
        Task run = new[] { 1 }.ForEachParallelAsync(
            (_, _) => Interlocked.Increment(ref calls) == 1 ? throw new FormatException() : default,
            Options with 
            {
                Retry = new() { MaxRetries = 1, IsTransient = static _ => true, BaseDelay = 3 * Second, MaxDelay = 3 * Second, Randomness = static () => 0.5 },
            });
        await UntilWaitingAsync(listener, "retry", 1);

        await _time.DriveAsync(run, Second);

        await run;
        Assert.Equal(0, listener.Observe()["weir.items.waiting retry"]);
        Assert.InRange(Assert.Single(listener.DurationsOf("weir.wait.duration retry")), 0.1, 20);
    }

    [Fact(Timeout = 90_000)]
    public async Task Items_ThatWaitForACircuit_AreShownWithItsState()
    {
        using RunListener listener = new(_name);
        CircuitBreaker breaker = new(new CircuitBreakerOptions { FailureThreshold = 1, SuccessThreshold = 1, OpenTimeout = 5 * Second, TimeProvider = _time });
        Assert.True(breaker.TryEnter(out CircuitTicket ticket));
        breaker.Failed(ticket);
        Task run = new[] { 1, 2, 3 }.ForEachParallelAsync(
            static (_, _) => default, Options with { CircuitBreaker = breaker, OpenCircuitMode = OpenCircuitMode.WaitForHalfOpen });
        await UntilWaitingAsync(listener, "circuit_breaker", 3);
        Dictionary<string, long> during = listener.Observe();
        Assert.Equal(0, during["weir.items.waiting retry"]);
        Assert.Equal((0, 1, 0), Circuits(during));

        await _time.DriveAsync(run, Second);

        await run;
        Assert.Equal((0, 0, 0), Circuits(listener.Observe()));
        Assert.InRange(listener.DurationsOf("weir.wait.duration circuit_breaker").Count, 3, 1000);
    }

    [Fact(Timeout = 90_000)]
    public async Task Circuits_ByKey_AreCountedByState()
    {
        using RunListener listener = new(_name);
        using Gate gate = new();
        CircuitBreakers breakers = CircuitBreakers.ByKey((int x) => x, new CircuitBreakerOptions { FailureThreshold = 1, TimeProvider = _time });
        int inside = 0;
        Task run = new[] { 1, 2, 3 }.ForEachParallelAsync(
            async (x, token) =>
            {
                if (x == 1)
                {
                    throw new FormatException();
                }

                Interlocked.Increment(ref inside);
                await gate.WaitAsync(token);
            },
            Options with { CircuitBreaker = breakers, ErrorMode = ErrorMode.BestEffort });
        await Guard.UntilAsync(() => Volatile.Read(ref inside) == 2 && Circuits(listener.Observe()) == (2, 1, 0), "two closed circuits and an open one");
        gate.Open();
        await run;
    }

    [Fact(Timeout = 90_000)]
    public async Task Items_ThatWaitForAPlace_AreShownAsSuch()
    {
        using RunListener listener = new(_name);
        SharedConcurrencyLimit limit = new(1);
        await limit.EnterAsync(TestContext.Current.CancellationToken);
        Task run = new[] { 1, 2 }.ForEachParallelAsync(static (_, _) => default, Options with { ConcurrencyLimit = limit });
        await UntilWaitingAsync(listener, "concurrency_limit", 2);

        limit.Leave();

        await run;
        Assert.Equal(0, listener.Observe()["weir.items.waiting concurrency_limit"]);
        Assert.InRange(listener.DurationsOf("weir.wait.duration concurrency_limit").Count, 2, 1000);
    }

    [Fact(Timeout = 90_000)]
    public async Task Items_ThatWaitAtARateLimit_AreNotInsideTheirCall()
    {
        using RunListener listener = new(_name);
        TokenBucket bucket = new(new RateLimitOptions { TokensPerSecond = 1, BurstCapacity = 1, TimeProvider = _time });
        Assert.True(bucket.TryEnter());
        Task run = new[] { 1, 2 }.ForEachParallelAsync(static (_, _) => default, Options with { RateLimit = bucket });
        await UntilWaitingAsync(listener, "rate_limit", 2);

        await _time.DriveAsync(run, Second);

        await run;
        Assert.Equal(0, listener.Observe()["weir.items.waiting rate_limit"]);
        Assert.Equal(2, listener.DurationsOf("weir.wait.duration rate_limit").Count);
    }

    [Fact(Timeout = 90_000)]
    public async Task ActiveItems_InsideAnErrorHookThatBlocks_AreNone()
    {
        using RunListener listener = new(_name);
        using ManualResetEventSlim inside = new();
        using ManualResetEventSlim go = new();
        Task run = new[] { 1 }.ForEachParallelAsync(
            static (_, _) => throw new FormatException(),
            Options with
            {
                ErrorMode = ErrorMode.BestEffort,
                OnErrorAsync = (_, _) =>
                {
                    inside.Set();
                    go.Wait(TestContext.Current.CancellationToken);
                    return new ValueTask<bool>(true);
                },
            });
        await Guard.UntilAsync(() => inside.IsSet && listener.Observe()["weir.items.active"] == 0, "the hook, with no item inside its call");
        go.Set();
        await run;
    }

    /// <summary>dotnet-counters listens from outside by this event source. It is attached while a run is under way, and asks nothing of the process.</summary>
    [Fact(Timeout = 90_000)]
    public async Task EventSourceOfMetrics_AttachedDuringARun_ShowsIt()
    {
        using Gate gate = new();
        int inside = 0;
        Task run = new[] { 1, 2, 3 }.ForEachParallelAsync(
            async (_, token) =>
            {
                Interlocked.Increment(ref inside);
                await gate.WaitAsync(token);
            },
            new ParallelRunOptions { OperationName = _name, MaxDegreeOfParallelism = 3 });
        await Guard.UntilAsync(() => Volatile.Read(ref inside) == 3, "the items");
        _ = RunObservation.IsMetered;

        using (CountersListener counters = new(_name))
        {
            await Guard.UntilAsync(() => counters.Last("weir.runs.active") == "1" && counters.Last("weir.items.active") == "3", "the run to be shown");
            gate.Open();
            await run;
            await Guard.UntilAsync(() => counters.Last("weir.runs.active") == "0", "the end of the run to be shown");
        }
    }

    private static (long Closed, long Open, long HalfOpen) Circuits(Dictionary<string, long> values) =>
        (values["weir.circuit_breakers closed"], values["weir.circuit_breakers open"], values["weir.circuit_breakers half_open"]);

    // They are queued and not inside their call. The worker that made the last one wait is on its way for a moment, and counted as if it had an item.
    private static Task UntilWaitingAsync(RunListener listener, string kind, long items) => Guard.UntilAsync(
        () => listener.Observe() is var now && now.GetValueOrDefault($"weir.items.waiting {kind}") == items
            && now["weir.items.active"] == 0 && now["weir.items.queued"] == items,
        $"{items} items that wait for {kind}, and none inside its call");

    /// <summary>What dotnet-counters is inside: a session of the metrics' event source.</summary>
    private sealed class CountersListener(string name) : EventListener
    {
        private readonly Dictionary<string, string> _last = [];

        public string? Last(string instrument)
        {
            lock (_last)
            {
                return _last.GetValueOrDefault(instrument);
            }
        }

        protected override void OnEventSourceCreated(EventSource eventSource)
        {
            if (eventSource.Name == "System.Diagnostics.Metrics")
            {
                Dictionary<string, string?> arguments = new()
                {
                    ["SessionId"] = Guid.NewGuid().ToString(),
                    ["Metrics"] = WeirDiagnostics.MeterName,
                    ["RefreshInterval"] = "0.1",
                    ["MaxTimeSeries"] = "1000",
                    ["MaxHistograms"] = "10",
                };
                EnableEvents(eventSource, EventLevel.Informational, (EventKeywords)2, arguments);
            }
        }

        protected override void OnEventWritten(EventWrittenEventArgs eventData)
        {
            if (eventData.EventName == "UpDownCounterRateValuePublished" && eventData.Payload is { } payload)
            {
                string Field(string field) => payload[eventData.PayloadNames!.IndexOf(field)]?.ToString() ?? "";
                if (Field("tags").Contains(name, StringComparison.Ordinal))
                {
                    lock (_last)
                    {
                        _last[Field("instrumentName")] = Field("value");
                    }
                }
            }
        }
    }
}
