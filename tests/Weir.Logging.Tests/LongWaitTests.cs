using System.Diagnostics.Metrics;
using System.Threading.Channels;
using Microsoft.Extensions.Logging;
using Weir.Observability;
using Weir.Resilience;
using Weir.Runtimes;

namespace Weir.Logging.Tests;

/// <summary>Line 15: that items wait long, while they wait.</summary>
public sealed class LongWaitTests : IDisposable
{
    private const int Still = 15;

    private static readonly TimeSpan Long = TimeSpan.FromSeconds(5);

    private readonly ManualTimeProvider _time = new();
    private readonly KeptLines _lines = new();
    private readonly string _name = Guid.NewGuid().ToString();

    public void Dispose() => _lines.Dispose();

    private ParallelRunOptions Options => new()
    {
        OperationName = _name, Metrics = new() { Tags = [new("tenant", 7)] }, ErrorMode = ErrorMode.BestEffort, MaxDegreeOfParallelism = 2,
        TimeProvider = _time,
    };

    // The next call may start after 1,000 s.
    private RateLimitOptions OneCall => new() { TokensPerSecond = 1, TokensPerOperation = 1000, BurstCapacity = 1000, TimeProvider = _time };

    private IEnumerable<KeptLine> Told => _lines.All.Where(static l => l.Id == Still);

    [Fact(Timeout = 90_000)]
    public async Task Lines_OfALimitWhoseHolderHangs_AreOneForAllItems_AndComeAgainEverMoreSeldom()
    {
        using ILoggerFactory factory = Factory(_lines);
        SharedConcurrencyLimit limit = new(1);
        Assert.True(limit.TryEnter());
        Task run = Enumerable.Range(0, 1000).ForEachParallelAsync(
            static (_, _) => default, (Options with { ConcurrencyLimit = limit }).WithLogging(factory, Long));
        await Guard.UntilAsync(() => Waiting("concurrency_limit") == 1000, "the items at the limit");
        Assert.Empty(Told);

        // After 5 s, and then after 5, 10, 20 and 40 more. In between are looks that say nothing.
        for (int second = 1; second <= 100; second++)
        {
            _time.Advance(TimeSpan.FromSeconds(1));
            if (second % 5 == 0)
            {
                await LookedAsync();
            }
        }

        Assert.Equal([5.0, 10.0, 20.0, 40.0, 80.0], Told.Select(static l => (double)l.Fields["Seconds"]!));
        Assert.All(Told, l => Assert.Equal(
            (LogLevel.Warning, 1000, "concurrency_limit", _name, 7, "ForEachParallelAsync"),
            (l.Level, l.Fields["Waiting"], l.Fields["Limit"], l.Fields["OperationName"], l.Fields["tenant"], l.Fields["Operation"])));

        limit.Leave();
        await run.WithinAsync("the run");
        Assert.Equal([1, 15, 15, 15, 15, 15, 12, 2], _lines.All.Select(static l => l.Id));
        Assert.Equal(0, _time.LiveTimers);
    }

    [Fact(Timeout = 90_000)]
    public async Task Lines_OfAWaitOfDays_ComeHourly()
    {
        using ILoggerFactory factory = Factory(_lines);
        SharedConcurrencyLimit limit = new(1);
        Assert.True(limit.TryEnter());
        using CancellationTokenSource stop = new();
        Task run = new[] { 1 }.ForEachParallelAsync(
            static (_, _) => default,
            (Options with { ConcurrencyLimit = limit }).WithLogging(factory, TimeSpan.FromMinutes(30)),
            stop.Token);
        await Guard.UntilAsync(() => Waiting("concurrency_limit") == 1, "the item at the limit");
        for (int look = 0; look < 20; look++)
        {
            _time.Advance(TimeSpan.FromMinutes(30));
            await LookedAsync();
        }

        Assert.Equal([0.5, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10], Told.Select(static l => (double)l.Fields["Seconds"]! / 3600));
        await stop.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => run.WithinAsync("the run"));
        Assert.Equal(0, _time.LiveTimers);
    }

    [Fact(Timeout = 90_000)]
    public async Task Lines_OfACircuitThatNeverCloses_CountTheWaitsBetweenItsProbesAsOne()
    {
        using ILoggerFactory factory = Factory(_lines);
        CircuitBreaker breaker = new(new CircuitBreakerOptions
        {
            FailureThreshold = 1, SuccessThreshold = 1, OpenTimeout = TimeSpan.FromSeconds(2), TimeProvider = _time,
        });
        Assert.True(breaker.TryEnter(out CircuitTicket ticket));
        breaker.Failed(ticket);
        using CancellationTokenSource stop = new();
        int calls = 0;
        Task run = Enumerable.Range(0, 10).ForEachParallelAsync(
            (_, _) =>
            {
                Interlocked.Increment(ref calls);
                throw new FormatException();
            },
            (Options with
            {
                // One at a time: an item that is refused while the probe of another one is under way comes back once more when that has failed, and a look in
                // between would not count it.
                MaxDegreeOfParallelism = 1, CircuitBreaker = breaker, OpenCircuitMode = OpenCircuitMode.WaitForHalfOpen,
            }).WithLogging(factory, Long),
            stop.Token);
        await Guard.UntilAsync(() => Waiting("circuit_breaker") == 10, "the items at the circuit");

        // After 2 s and 4 s an item's call is the probe, and fails. The others have waited for 5 s then, though never for more than 2 s at a time.
        for (int probe = 1; probe <= 2; probe++)
        {
            _time.Advance(TimeSpan.FromSeconds(2));
            await Guard.UntilAsync(
                () => Volatile.Read(ref calls) == probe && breaker.State == CircuitBreakerState.Open && Waiting("circuit_breaker") == 10 - probe,
                "the probe");
        }

        Assert.Empty(Told);
        _time.Advance(TimeSpan.FromSeconds(1));
        await ToldOnceAsync(8, "circuit_breaker");
        await stop.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => run.WithinAsync("the run"));
    }

    [Fact(Timeout = 90_000)]
    public async Task Lines_OfARateLimit_AreWrittenWhileItemsWait_AndNoLongerAfterTheRunWasStopped()
    {
        using ILoggerFactory factory = Factory(_lines);
        TokenBucket bucket = new(OneCall);
        using CancellationTokenSource stop = new();
        using Gate gate = new();
        int inside = 0;
        Task run = Enumerable.Range(0, 3).ForEachParallelAsync(
            async (_, _) =>
            {
                Interlocked.Increment(ref inside);
                await gate.WaitAsync(CancellationToken.None);
            },
            (Options with { RateLimit = bucket, MaxDegreeOfParallelism = 3 }).WithLogging(factory, Long),
            stop.Token);
        await Guard.UntilAsync(() => Volatile.Read(ref inside) == 1 && Waiting("rate_limit") == 2, "the items at the rate limit");
        _time.Advance(Long);
        await ToldOnceAsync(2, "rate_limit");
        await LookedAsync(others: 1);

        // It has to wait for its call, but no longer for the limit.
        await stop.CancelAsync();
        await Guard.UntilAsync(() => Waiting("rate_limit") == 0, "the end of the waits");
        _time.Advance(Long);
        gate.Open();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => run.WithinAsync("the run"));
        Assert.Single(Told);
        Assert.Equal(0, _time.LiveTimers);
    }

    [Fact(Timeout = 90_000)]
    public async Task Lines_OfTheRatesOfKeys_CountItemsThatHoldNoWorker()
    {
        using ILoggerFactory factory = Factory(_lines);
        RateLimits limits = RateLimits.ByKey(static (int x) => x % 2, OneCall);
        using CancellationTokenSource stop = new();
        int done = 0;
        Task run = Enumerable.Range(0, 10).ForEachParallelAsync(
            (_, _) =>
            {
                Interlocked.Increment(ref done);
                return default;
            },
            (Options with { RateLimit = limits, MaxDegreeOfParallelism = 1 }).WithLogging(factory, Long),
            stop.Token);

        // One item of each key has started.
        await Guard.UntilAsync(() => Volatile.Read(ref done) == 2 && Waiting("rate_limit") == 8, "the items at the rates of their keys");
        _time.Advance(Long);
        await ToldOnceAsync(8, "rate_limit");
        await stop.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => run.WithinAsync("the run"));
    }

    [Fact(Timeout = 90_000)]
    public async Task Lines_OfASecondTrouble_BeginAnew()
    {
        using ILoggerFactory factory = Factory(_lines);
        SharedConcurrencyLimit limit = new(1);
        Assert.True(limit.TryEnter());
        Channel<int> items = Channel.CreateUnbounded<int>();
        int done = 0;
        Task run = items.Reader.ForEachParallelAsync(
            (_, _) =>
            {
                Interlocked.Increment(ref done);
                return default;
            },
            (Options with { ConcurrencyLimit = limit }).WithLogging(factory, Long));
        for (int trouble = 1; trouble <= 2; trouble++)
        {
            await items.Writer.WriteAsync(trouble);
            await Guard.UntilAsync(() => Waiting("concurrency_limit") == 1, "the item at the limit");
            for (int look = 1; look <= 3; look++)
            {
                _time.Advance(Long);
                await LookedAsync();
            }

            // After 5 and 10 s. After 15 s nothing was due.
            Assert.Equal(2 * trouble, Told.Count());
            limit.Leave();
            await Guard.UntilAsync(() => Volatile.Read(ref done) == trouble && limit.TryEnter(), "the item's end");

            // Two looks find nothing, and after that nobody looks.
            _time.Advance(Long);
            await LookedAsync();
            _time.Advance(Long);
            await Guard.UntilAsync(() => _time.ArmedTimers == 0, "the last look");
        }

        limit.Leave();
        items.Writer.Complete();
        await run.WithinAsync("the run");
        Assert.Equal([5.0, 10.0, 5.0, 10.0], Told.Select(static l => (double)l.Fields["Seconds"]!));
    }

    [Theory(Timeout = 90_000)]
    [InlineData("direct", false)]
    [InlineData("direct", true)]
    [InlineData("concurrent", false)]
    [InlineData("parallel", false)]
    [InlineData("auto", false)]
    [InlineData("auto", true)]
    public async Task Lines_OfARuntimesCall_TellOfLongWaits(string name, bool ownLimit)
    {
        using ILoggerFactory factory = Factory(_lines);
        SharedConcurrencyLimit limit = new(1);
        Assert.True(limit.TryEnter());
        ParallelRunOptions policies = new() { ConcurrencyLimit = ownLimit ? null : limit };
        RuntimeOptions options = new()
        {
            TimeProvider = _time, ConcurrencyLimit = ownLimit ? limit : null, Policies = policies.WithLogging(factory, Long),
        };
        await using (IExecutionRuntime runtime = RunLoggingTests.Runtime(name, options))
        {
            Task run = runtime.ProcessManyAsync([1, 2], static (x, _) => new ValueTask<int>(x), new ProcessManyOptions { OperationName = _name });
            await Guard.UntilAsync(() => Waiting("concurrency_limit") == 2, "the items at the limit");
            _time.Advance(Long);
            KeptLine line = await ToldOnceAsync(2, "concurrency_limit");
            Assert.Equal(("ProcessManyAsync", _name), (line.Fields["Operation"], line.Fields["OperationName"]));
            limit.Leave();
            await run.WithinAsync("the call");
        }

        Assert.Equal([1, 15, 12, 2], _lines.All.Select(static l => l.Id));
    }

    [Theory(Timeout = 90_000)]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Timer_WithoutWaitsOrWithoutLines_IsNone(bool waits)
    {
        using ILoggerFactory factory = Factory(_lines);
        SharedConcurrencyLimit limit = new(1);
        Assert.Equal(waits, waits && limit.TryEnter());
        using Gate gate = new();
        int inside = 0;
        Task run = new[] { 1 }.ForEachParallelAsync(
            async (_, _) =>
            {
                Interlocked.Increment(ref inside);
                await gate.WaitAsync(CancellationToken.None);
            },
            (Options with { ConcurrencyLimit = limit }).WithLogging(factory, waits ? Timeout.InfiniteTimeSpan : Long));
        await Guard.UntilAsync(() => Volatile.Read(ref inside) + Waiting("concurrency_limit") == 1, "the item");
        Assert.Equal(0, _time.LiveTimers);
        _time.Advance(TimeSpan.FromDays(1));
        gate.Open();
        if (waits)
        {
            limit.Leave();
        }

        await run.WithinAsync("the run");
        Assert.Equal([1, 2], _lines.All.Select(static l => l.Id));
    }

    [Fact(Timeout = 90_000)]
    public async Task Logger_ThatThrows_ChangesNothing_AndIsToldAgain()
    {
        KeptLines lines = new() { Throws = true };
        using ILoggerFactory factory = Factory(lines);
        SharedConcurrencyLimit limit = new(1);
        Assert.True(limit.TryEnter());
        Task run = new[] { 1 }.ForEachParallelAsync(
            static (_, _) => default, (Options with { ConcurrencyLimit = limit, Metrics = null }).WithLogging(factory, Long));
        await Guard.UntilAsync(() => Waiting("concurrency_limit") == 1, "the item at the limit");
        for (int look = 1; look <= 2; look++)
        {
            _time.Advance(Long);
            await LookedAsync();
        }

        Assert.Equal(2, lines.All.Count(static l => l.Id == Still));
        limit.Leave();
        await run.WithinAsync("the run");
        Assert.Equal(TaskStatus.RanToCompletion, run.Status);
    }

    /// <summary>The only line so far tells of this many items that have waited for as long as counts.</summary>
    private async Task<KeptLine> ToldOnceAsync(int waiting, string limit)
    {
        await Guard.UntilAsync(() => Told.Any(), "the line");
        KeptLine line = Assert.Single(Told);
        Assert.Equal((waiting, limit, 5.0), (line.Fields["Waiting"], line.Fields["Limit"], line.Fields["Seconds"]));
        return line;
    }

    /// <summary>The look that the clock has begun is over: it has armed the timer of the next.</summary>
    private async Task LookedAsync(int others = 0) => await Guard.UntilAsync(() => _time.ArmedTimers == 1 + others, "the look");

    /// <summary>How many items of the test's run wait, as the meter counts them. They are counted after their waits have begun.</summary>
    private long Waiting(string kind)
    {
        long waiting = 0;
        using MeterListener listener = new();
        listener.InstrumentPublished = static (instrument, listener) =>
        {
            if (instrument.Meter.Name == WeirDiagnostics.MeterName && instrument.Name == "weir.items.waiting")
            {
                listener.EnableMeasurementEvents(instrument);
            }
        };
        listener.SetMeasurementEventCallback<long>((_, value, tags, _) =>
        {
            string[] values = [.. tags.ToArray().Select(static t => t.Value as string ?? "")];
            waiting += values.Contains(_name) && values.Contains(kind) ? value : 0;
        });
        listener.Start();
        listener.RecordObservableInstruments();
        return waiting;
    }

    private static ILoggerFactory Factory(KeptLines lines) =>
        LoggerFactory.Create(builder => builder.SetMinimumLevel(LogLevel.Trace).AddProvider(lines));
}
