using System.Collections.Concurrent;
using Weir.Resilience;
using Weir.TestKit;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Policies;

/// <summary>The policies of a run, composed by the operators: order, places where items wait, and what they answer.</summary>
public class RunPolicyTests
{
    private static readonly TimeSpan Second = TimeSpan.FromSeconds(1);

    // What is transient by itself has tests of its own; here it is what the calls throw.
    private static readonly Func<Exception, bool> IsWrong = static e => e is FormatException;

    private readonly ManualTimeProvider _time = new();

    private ParallelRunOptions Options => new() { MaxDegreeOfParallelism = 4, TimeProvider = _time, BaseDelay = Second };

    [Fact(Timeout = 90_000)]
    public async Task Retry_TransientFailures_SucceedsAndCallsTheHooksOncePerItem()
    {
        ConcurrentQueue<string> log = new();
        ConcurrentDictionary<int, int> attempts = new();
        Task<List<int>> run = Enumerable.Range(0, 20).SelectParallelAsync(
            (x, _) => attempts.AddOrUpdate(x, 1, static (_, n) => n + 1) == 1 && x % 5 == 0 ? throw new IOException() : new ValueTask<int>(x),
            Options with
            {
                MaxRetries = 2,
                IsTransient = static e => e is IOException,
                OnRetryAsync = (index, attempt, error) => Log(log, $"retry {index} {attempt} {error.GetType().Name}"),
                OnStartItemAsync = index => Log(log, $"start {index}"),
                OnCompleteItemAsync = index => Log(log, $"complete {index}"),
                OnErrorAsync = (index, _) =>
                {
                    log.Enqueue($"error {index}");
                    return new ValueTask<bool>(true);
                },
            });
        Assert.Equal(Enumerable.Range(0, 20), await Drive(run, Second));
        Assert.Equal(20, log.Count(static l => l.StartsWith("start", StringComparison.Ordinal)));
        Assert.Equal(20, log.Count(static l => l.StartsWith("complete", StringComparison.Ordinal)));
        Assert.Equal(
            ["retry 0 1 IOException", "retry 10 1 IOException", "retry 15 1 IOException", "retry 5 1 IOException"],
            log.Where(static l => l.StartsWith("retry", StringComparison.Ordinal)).Order(StringComparer.Ordinal));
        Assert.DoesNotContain(log, static l => l.StartsWith("error", StringComparison.Ordinal));
        Assert.Equal(0, _time.LiveTimers);
    }

    [Theory(Timeout = 90_000)]
    [InlineData(true, 4)]
    [InlineData(false, 1)]
    public async Task Retry_ByDefault_TriesAgainOnlyWhatThePlatformCallsTransient(bool transient, int expected)
    {
        int calls = 0;
        Task<ItemOutcome<int, int>[]> run = new[] { 1 }.SelectParallelOutcomesAsync<int, int>(
            (_, _) =>
            {
                calls++;
                throw transient ? new HttpRequestException("no answer") : new HttpRequestException("no such page", null, System.Net.HttpStatusCode.NotFound);
            },
            Options with { MaxRetries = 3 });
        Assert.IsType<HttpRequestException>((await Drive(run, Second))[0].Error);
        Assert.Equal(expected, calls);
    }

    [Fact(Timeout = 90_000)]
    public async Task Retry_ByDefault_WaitsWithTheFullJitterOfTheSeed()
    {
        Func<double> chance = new SeededRandom(5).NextDouble;
        int calls = 0;
        Task<List<int>> run = new[] { 1 }.SelectParallelAsync(
            (x, _) => Interlocked.Increment(ref calls) < 4 ? throw new TimeoutException() : new ValueTask<int>(x),
            Options with { Retry = new() { BaseDelay = Options.BaseDelay, Randomness = new SeededRandom(5).NextDouble } });
        TimeSpan due = TimeSpan.Zero;
        for (int retry = 1; retry <= 3; retry++)
        {
            due += TimerDelay.RoundUp(Second * Math.Pow(2, retry - 1) * chance());
            await Guard.UntilAsync(() => _time.NextDue == due, "the wait for the next attempt");
            _time.Advance(due - TimeSpan.FromTicks(_time.GetTimestamp()));
        }

        Assert.Equal([1], await run.WithinAsync());
    }

    [Fact(Timeout = 90_000)]
    public async Task Retry_Exhausted_ThrowsTheLastError()
    {
        int calls = 0;
        Task<List<int>> run = new[] { 1 }.SelectParallelAsync<int, int>(
            (_, _) => throw new FormatException($"call {Interlocked.Increment(ref calls)}"),
            Options with { MaxRetries = 2, IsTransient = IsWrong, BackoffStrategy = BackoffStrategy.Linear });
        Assert.Equal("call 3", (await Assert.ThrowsAsync<FormatException>(() => Drive(run, Second))).Message);
    }

    [Fact(Timeout = 90_000)]
    public async Task Retry_AfterTheCallersCancellation_DoesNotHappen()
    {
        using CancellationTokenSource cancel = new();
        int retries = 0;
        Task<List<int>> run = new[] { 1 }.SelectParallelAsync<int, int>(
            async (_, token) =>
            {
                await cancel.CancelAsync();
                token.ThrowIfCancellationRequested();
                return 1;
            },
            Options with { MaxRetries = 5, IsTransient = static _ => true, OnRetryAsync = (_, _, _) => { retries++; return default; } },
            cancel.Token);
        OperationCanceledException error = await Assert.ThrowsAnyAsync<OperationCanceledException>(() => run);
        Assert.Equal(cancel.Token, error.CancellationToken);
        Assert.Equal(0, retries);
    }

    [Fact(Timeout = 90_000)]
    public async Task Fallback_AfterTheLastAttempt_GivesTheResult()
    {
        Task<List<int>> run = Enumerable.Range(0, 4).SelectParallelAsync<int, int>(
            static (x, _) => x % 2 == 0 ? throw new FormatException() : new ValueTask<int>(x),
            Options with { MaxRetries = 1, IsTransient = IsWrong, OnFallback = Fallback.Of((index, error) => error is FormatException ? -index : 99) });
        Assert.Equal([0, 1, -2, 3], await Drive(run, Second));
    }

    [Fact(Timeout = 90_000)]
    public async Task Fallback_OfAnOpenCircuit_IsAskedAndTheBreakerOpensAllTheSame()
    {
        int calls = 0;
        List<int> results = await Enumerable.Range(0, 200).SelectParallelAsync<int, int>(
            (_, _) =>
            {
                Interlocked.Increment(ref calls);
                throw new FormatException();
            },
            Options with
            {
                MaxDegreeOfParallelism = 1,
                CircuitBreaker = new CircuitBreakerOptions { FailureThreshold = 5 },
                OnFallback = Fallback.Of(static (_, error) => error is CircuitBreakerOpenException ? 1 : 0),
            });
        Assert.Equal(5, calls);
        Assert.Equal(195, results.Sum());
    }

    [Fact(Timeout = 90_000)]
    public async Task OpenCircuit_OpenedByATimeLimit_FailsWhatItRefuses()
    {
        int calls = 0;
        TaskCompletionSource<int> never = new();
        Task<ItemOutcome<int, int>[]> run = new[] { 1, 2, 3 }.SelectParallelOutcomesAsync(
            (_, _) =>
            {
                Interlocked.Increment(ref calls);
                return new ValueTask<int>(never.Task);
            },
            Options with
            {
                MaxDegreeOfParallelism = 1,
                AttemptTimeout = Second,
                CircuitBreaker = new CircuitBreakerOptions { FailureThreshold = 1, OpenTimeout = TimeSpan.FromDays(1) },
            });
        ItemOutcome<int, int>[] outcomes = await Drive(run, Second / 4);
        Assert.Equal(1, calls);
        Assert.Equal([ItemStatus.TimedOut, ItemStatus.Failed, ItemStatus.Failed], outcomes.Select(static o => o.Status));
        Assert.All(outcomes[1..], static o => Assert.IsType<AttemptTimeoutException>(Assert.IsType<CircuitBreakerOpenException>(o.Error).InnerException));
    }

    [Fact(Timeout = 90_000)]
    public async Task OpenCircuit_WaitForHalfOpen_DoesNotBurnTheQueue()
    {
        int calls = 0;
        bool down = true;
        CircuitBreaker breaker = new(new CircuitBreakerOptions { FailureThreshold = 4, OpenTimeout = Second * 10, TimeProvider = _time });
        Task<ItemOutcome<int, int>[]> run = Enumerable.Range(0, 100).SelectParallelOutcomesAsync(
            (x, _) =>
            {
                Interlocked.Increment(ref calls);
                return Volatile.Read(ref down) ? throw new FormatException() : new ValueTask<int>(x);
            },
            Options with { CircuitBreaker = breaker, OpenCircuitMode = OpenCircuitMode.WaitForHalfOpen });

        // Four calls alone do not mean that it is open: the last of them may not have failed yet.
        await Guard.UntilAsync(() => breaker.State == CircuitBreakerState.Open, "the circuit that opens");
        _time.Advance(Second * 5);
        Assert.InRange(Volatile.Read(ref calls), 4, 7);
        Assert.False(run.IsCompleted);
        Volatile.Write(ref down, false);
        ItemOutcome<int, int>[] outcomes = await Drive(run, Second);
        Assert.InRange(outcomes.Count(static o => o.Status == ItemStatus.Failed), 4, 7);
        Assert.Equal(100, outcomes.Count(static o => o.IsSuccess) + outcomes.Count(static o => o.Error is FormatException));
    }

    [Fact(Timeout = 90_000)]
    public async Task SharedCircuitBreaker_OpenedByOneRun_IsOpenForTheNext()
    {
        CircuitBreaker breaker = new(new CircuitBreakerOptions { FailureThreshold = 2, TimeProvider = _time });
        ParallelRunOptions options = Options with { CircuitBreaker = breaker, MaxDegreeOfParallelism = 1 };
        await Enumerable.Range(0, 2).SelectParallelOutcomesAsync<int, int>(static (_, _) => throw new FormatException(), options);
        int calls = 0;
        ItemOutcome<int, int>[] second = await new[] { 1 }.SelectParallelOutcomesAsync(
            (x, _) =>
            {
                calls++;
                return new ValueTask<int>(x);
            },
            options);
        Assert.Equal(0, calls);
        Assert.IsType<CircuitBreakerOpenException>(second[0].Error);
    }

    [Fact(Timeout = 90_000)]
    public async Task Retry_ThroughAnOpenCircuit_SeesIt()
    {
        // Retries pass the breaker again, so an open circuit ends them.
        int calls = 0;
        Task<ItemOutcome<int, int>[]> run = new[] { 1 }.SelectParallelOutcomesAsync<int, int>(
            (_, _) =>
            {
                calls++;
                throw new FormatException();
            },
            Options with { MaxRetries =
                50, IsTransient = IsWrong, CircuitBreaker = new CircuitBreakerOptions { FailureThreshold = 3, OpenTimeout = TimeSpan.FromHours(1) } });
        Assert.IsType<CircuitBreakerOpenException>((await Drive(run, Second))[0].Error);
        Assert.Equal(3, calls);
    }

    [Fact(Timeout = 90_000)]
    public async Task RateLimit_PerAttempt_IsExactOnTheClock()
    {
        ConcurrentQueue<long> starts = new();
        Task run = Enumerable.Range(0, 21).ForEachParallelAsync(
            (_, _) =>
            {
                starts.Enqueue(_time.GetTimestamp());
                return default;
            },
            Options with { MaxDegreeOfParallelism = 1, RateLimit = new RateLimitOptions { TokensPerSecond = 10, BurstCapacity = 1 } });

        // One item at a time: when a timer is armed the only worker waits for it, so nobody is late when the clock moves.
        await _time.DriveAsync(run, TimeSpan.FromMilliseconds(1));
        await run;
        long[] at = [.. starts];
        Assert.Equal(21, at.Length);
        for (int i = 1; i < at.Length; i++)
        {
            Assert.InRange(TimeSpan.FromTicks(at[i] - at[0]), TimeSpan.FromMilliseconds(100 * i), TimeSpan.FromMilliseconds((100 * i) + 2));
        }
    }

    [Theory(Timeout = 90_000)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task RateLimit_OnlyTheRateIsSet_AdmitsASecondsWorthAtOnceAndThenTheRate(bool byKey)
    {
        ConcurrentQueue<long> starts = new();
        TaskCompletionSource burst = new(TaskCreationOptions.RunContinuationsAsynchronously);
        int begun = 0;
        RateLimitOptions tenASecond = new() { TokensPerSecond = 10, TimeProvider = _time };
        Task run = Enumerable.Range(0, 60).ForEachParallelAsync(
            (_, _) =>
            {
                starts.Enqueue(_time.GetTimestamp());
                if (Interlocked.Increment(ref begun) == 10)
                {
                    burst.SetResult();
                }

                return default;
            },
            Options with { MaxDegreeOfParallelism = 8, RateLimit = byKey ? RateLimits.ByKey<int, int>(static x => 0 * x, tenASecond) : tenASecond });

        // The clock stands until ten have read it: a thread that is held up between its token and its call reads it late.
        await burst.Task;
        await _time.DriveAsync(run, TimeSpan.FromMilliseconds(10));
        await run;
        long[] at = [.. starts];
        Assert.Equal(60, at.Length);
        Assert.Equal(10, at.Count(static at => at == 0));
        for (int second = 0; second < 5; second++)
        {
            Assert.InRange(at.Count(at => at < (second + 1) * Second.Ticks), 1, 10 + (10 * (second + 1)));
        }
    }

    [Fact(Timeout = 90_000)]
    public async Task AttemptTimeout_OfACallThatIgnoresIt_IsTriedAgain()
    {
        int calls = 0;
        TaskCompletionSource<int> never = new();
        Task<List<int>> run = new[] { 7 }.SelectParallelAsync(
            (x, _) => Interlocked.Increment(ref calls) == 1 ? new ValueTask<int>(never.Task) : new ValueTask<int>(x),
            Options with { AttemptTimeout = Second * 5, MaxRetries = 10_000 });

        // The clock goes on while the second attempt begins, so a thread that is held up there needs another one.
        await _time.PaceAsync(run, Second);
        Assert.Equal([7], await run);
        Assert.InRange(calls, 2, 10_001);
    }

    [Fact(Timeout = 90_000)]
    public async Task AttemptTimeout_BehindARateLimit_BeginsWhenTheAttemptMayStart()
    {
        // The fourth waits three seconds for its token, longer than an attempt may last. No attempt is out of time at the moment of a token.
        int ended = 0;
        Task<List<int>> run = Enumerable.Range(0, 4).SelectParallelAsync(
            static (x, _) => new ValueTask<int>(x),
            Options with
            {
                AttemptTimeout = Second * 2.5,
                RateLimit = new RateLimitOptions { TokensPerSecond = 1, BurstCapacity = 1 },
                OnCompleteItemAsync = _ =>
                {
                    Interlocked.Increment(ref ended);
                    return default;
                },
            });
        for (int token = 1; token < 4; token++)
        {
            // The clock moves only when no attempt is under way, so none of them is out of time because its thread was held up.
            await Guard.UntilAsync(() => Volatile.Read(ref ended) == token && _time.IsArmedFor(Second * token), "the wait for the next token");
            _time.Advance(Second);
        }

        Assert.Equal([0, 1, 2, 3], await run);
    }

    [Fact(Timeout = 90_000)]
    public async Task AttemptTimeout_OfCallsThatIgnoreIt_OpensTheCircuit()
    {
        TaskCompletionSource<int> never = new();
        Task<ItemOutcome<int, int>[]> run = Enumerable.Range(0, 3).SelectParallelOutcomesAsync(
            (_, _) => new ValueTask<int>(never.Task),
            Options with
            {
                MaxDegreeOfParallelism = 1,
                AttemptTimeout = Second * 2,
                CircuitBreaker = new CircuitBreakerOptions { FailureThreshold = 2, OpenTimeout = TimeSpan.FromHours(1) },
            });
        ItemOutcome<int, int>[] outcomes = await Drive(run, Second);
        Assert.All(outcomes.Take(2), static o => Assert.True(TimeoutFailure.Is(o.Error)));
        Assert.IsType<CircuitBreakerOpenException>(outcomes[2].Error);
    }

    [Fact]
    public void Options_WrongValues_AreRefusedAtTheCallByName()
    {
        Refused("CircuitBreaker", new() { CircuitBreaker = ((CircuitBreakerOptions)new CircuitBreaker())! with { FailureThreshold = 3 } });
        Refused("RateLimit", new() { RateLimit = ((RateLimitOptions)new TokenBucket())! with { TokensPerSecond = 3 } });
        Refused("ConcurrencyLimit", new() { ConcurrencyLimit = new OtherSetting() });
        Refused("OnFallback", new() { OnFallback = Fallback.Of(static (_, _) => "text") });
        Assert.Equal("OnFallback", Assert.Throws<ArgumentException>(() =>
        {
            _ = new[] { 1 }.ForEachParallelAsync(static (_, _) => default, new() { OnFallback = Fallback.Of(static (_, _) => 1) });
        }).ParamName);

        static void Refused(string name, ParallelRunOptions options)
        {
            ArgumentException error = Assert.ThrowsAny<ArgumentException>(
                () => { _ = new[] { 1 }.SelectParallelAsync(static (x, _) => new ValueTask<int>(x), options); });
            Assert.Equal(name, error.ParamName);
            error = Assert.ThrowsAny<ArgumentException>(
                () => { _ = new[] { 1 }.SelectParallelStreamAsync(static (x, _) => new ValueTask<int>(x), options); });
            Assert.Equal(name, error.ParamName);
        }
    }

    private sealed class OtherSetting : IConcurrencyLimitSetting;

    private static ValueTask Log(ConcurrentQueue<string> log, string line)
    {
        log.Enqueue(line);
        return default;
    }

    /// <summary>Moves the clock until the run is done.</summary>
    private async Task<T> Drive<T>(Task<T> run, TimeSpan step)
    {
        await _time.DriveAsync(run, step);
        return await run;
    }
}
