using System.Runtime.CompilerServices;
using Weir.Resilience;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Policies;

/// <summary>Items of a run that wait for a circuit: they are told of each change, whatever the clock says.</summary>
public sealed class CircuitWaitTests : IDisposable
{
    private static readonly TimeSpan OpenTimeout = TimeSpan.FromSeconds(30);

    private readonly ManualTimeProvider _time = new();
    private readonly Gate _probe = new();

    private ParallelRunOptions Options => new() { MaxDegreeOfParallelism = 4, TimeProvider = _time, OpenCircuitMode = OpenCircuitMode.WaitForHalfOpen };

    public void Dispose() => _probe.Dispose();

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task HalfOpen_ProbeEnds_TheOthersGoOnAtOnce(bool probeIsIgnored)
    {
        CircuitBreaker breaker = Broken();
        _time.Advance(OpenTimeout);

        // Somebody else has the only probe, so all items of the run meet a half-open circuit and wait. The clock stands still from here on.
        Assert.True(breaker.TryEnter(out CircuitTicket probe));
        Task<List<int>> run =
            Enumerable.Range(0, 20).SelectParallelAsync(static (x, _) => new ValueTask<int>(x), Options with { CircuitBreaker = breaker });
        await Guard.UntilAsync(() => _time.ArmedTimers > 0, "items that wait for the circuit");
        Assert.False(run.IsCompleted);
        if (probeIsIgnored)
        {
            breaker.Ignored(probe);
        }
        else
        {
            breaker.Succeeded(probe);
        }

        Assert.Equal(Enumerable.Range(0, 20), await run.WithinAsync("the run whose circuit has closed"));
    }

    [Theory(Timeout = 90_000)]
    [InlineData(false, false)]
    [InlineData(true, false)]
    [InlineData(false, true)]
    [InlineData(true, true)]
    public async Task SlowCalls_OfARun_OpenItsCircuit(bool suspends, bool hasLimit)
    {
        ItemOutcome<int, int>[] outcomes = await Enumerable.Range(0, 4).SelectParallelOutcomesAsync(
            async (x, _) =>
            {
                if (suspends)
                {
                    await Task.Yield();
                }

                _time.Advance(TimeSpan.FromSeconds(x == 0 ? 1 : 2));
                return x;
            },
            Options with
            {
                MaxDegreeOfParallelism = 1,
                OpenCircuitMode = OpenCircuitMode.FailFast,
                ConcurrencyLimit = hasLimit ? new SharedConcurrencyLimit(1) : null,
                CircuitBreaker = new CircuitBreakerOptions
                {
                    SlowCallDuration = TimeSpan.FromSeconds(1), SlowCallRatio = 0.6, MinimumThroughput = 2, SamplingDuration = TimeSpan.FromMinutes(1),
                },
            }).WithinAsync("the run");
        Assert.All(outcomes[..3], static o => Assert.Null(o.Error));
        Assert.IsType<TimeoutException>(Assert.IsType<CircuitBreakerOpenException>(outcomes[3].Error).InnerException);
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task HalfOpen_ProbeEndsBetweenARefusalAndItsWait_TheItemGoesOnAtOnce()
    {
        int readings = 0;
        CircuitBreaker breaker = Broken(new ReadClock(_time, now =>
        {
            Interlocked.Increment(ref readings);
            return now;
        }));
        _time.Advance(OpenTimeout);
        Assert.True(breaker.TryEnter(out CircuitTicket probe));
        Volatile.Write(ref readings, 0);

        // The circuit reads its clock to refuse the item, and to say how long it stays refused. Then the run reads its own, before it asks how long to wait.
        ReadClock clock = new(_time, now =>
        {
            if (Volatile.Read(ref readings) >= 2)
            {
                breaker.Succeeded(probe);
            }

            return now;
        });
        Task<List<int>> run = new[] { 7 }.SelectParallelAsync(
            static (x, _) => new ValueTask<int>(x), Options with { CircuitBreaker = breaker, TimeProvider = clock });
        Assert.Equal([7], await run.WithinAsync("the run whose circuit closed as its item began to wait"));
        Assert.InRange(readings, 2, int.MaxValue);
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Open_PassesToHalfOpenAndClosed_WithNoStepOfTheClockInBetween()
    {
        CircuitBreaker breaker = Broken();
        int calls = 0;
        Task<List<int>> run = Enumerable.Range(0, 20).SelectParallelAsync(
            async (x, token) =>
            {
                if (Interlocked.Increment(ref calls) == 1)
                {
                    await _probe.WaitAsync(token);
                }

                return x;
            },
            Options with { CircuitBreaker = breaker });
        await Guard.UntilAsync(() => _time.ArmedTimers > 0, "items that wait for the circuit");
        _time.Advance(OpenTimeout);
        await Guard.UntilAsync(() => Volatile.Read(ref calls) == 1, "the probe");
        Assert.Equal(CircuitBreakerState.HalfOpen, breaker.State);
        _probe.Open();
        Assert.Equal(Enumerable.Range(0, 20), await run.WithinAsync("the run whose probe has succeeded"));
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task OwnCircuitOfTheCall_Refuses_IsAFailureAndNoWait()
    {
        CircuitBreaker inner = Broken();
        ItemOutcome<int, int>[] outcomes = await new[] { 1, 2 }.SelectParallelOutcomesAsync<int, int>(
            (_, _) => throw inner.CreateRejection(),
            Options with { CircuitBreaker = new CircuitBreakerOptions { FailureThreshold = 100 } }).WithinAsync("the run");
        Assert.All(outcomes, static o => Assert.IsType<CircuitBreakerOpenException>(o.Error));
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Cancelled_WhileItemsWait_TheCircuitKeepsNothingOfTheRun()
    {
        CircuitBreaker breaker = Broken();
        WeakReference item = await RunAndCancelAsync(breaker);
        await Leak.GoneAsync([item], "an item of a run that waited for a circuit and was cancelled");
        GC.KeepAlive(breaker);
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Refused_WhenTheItemsTimeIsUpAlready_IsTimedOut()
    {
        // The clock of the second item passes its limit while it asks the circuit, which the first one has opened, and before any timer fires.
        long ahead = 0;
        ReadClock clock = new(_time, now => now + Volatile.Read(ref ahead));
        CircuitBreakers breakers = CircuitBreakers.ByKey(
            (int x) =>
            {
                Volatile.Write(ref ahead, (x * OpenTimeout).Ticks);
                return 0;
            },
            new CircuitBreakerOptions { FailureThreshold = 1, OpenTimeout = TimeSpan.FromDays(1), TimeProvider = _time });
        Task<ItemOutcome<int, int>[]> run = new[] { 0, 1 }.SelectParallelOutcomesAsync(
            static (x, _) => x == 0 ? throw new TestException("opens the circuit") : new ValueTask<int>(x),
            Options with { MaxDegreeOfParallelism = 1, CircuitBreaker = breakers, PerItemTimeout = OpenTimeout / 2, TimeProvider = clock });
        await Guard.UntilAsync(
            () =>
            {
                _time.Advance(TimeSpan.Zero);
                return run.IsCompleted;
            },
            "the end of the run");
        Assert.Equal([ItemStatus.Failed, ItemStatus.TimedOut], (await run).Select(static o => o.Status));
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private async Task<WeakReference> RunAndCancelAsync(CircuitBreaker breaker)
    {
        object item = new();
        using CancellationTokenSource cancelling = new();
        Task run = new[] { item }.SelectParallelAsync(
            static (x, _) => new ValueTask<object>(x), Options with { CircuitBreaker = breaker }, cancellationToken: cancelling.Token);
        await Guard.UntilAsync(() => _time.ArmedTimers > 0, "an item that waits for the circuit");
        await cancelling.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => run);
        return new WeakReference(item);
    }

    private CircuitBreaker Broken(TimeProvider? time = null)
    {
        CircuitBreaker breaker = new(new CircuitBreakerOptions
        {
            FailureThreshold = 1,
            SuccessThreshold = 1,
            OpenTimeout = OpenTimeout,
            TimeProvider = time ?? _time,
        });
        Assert.True(breaker.TryEnter(out CircuitTicket ticket));
        breaker.Failed(ticket);
        return breaker;
    }

    /// <summary>A clock whose readings a test sees, and may move ahead of its timers.</summary>
    private sealed class ReadClock(ManualTimeProvider timers, Func<long, long> read) : TimeProvider
    {
        public override long TimestampFrequency => timers.TimestampFrequency;

        public override long GetTimestamp() => read(timers.GetTimestamp());

        public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period) =>
            timers.CreateTimer(callback, state, dueTime, period);
    }
}
