using System.Collections.Concurrent;
using System.Diagnostics.Metrics;
using System.Diagnostics.Tracing;
using System.Reflection;
using Weir.Observability;
using Weir.Resilience;
using Weir.Runtimes;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Docs;

/// <summary>What docs/reference/migrating-from-rivulet.md says of Weir, row by row, where no other test says it.</summary>
public class MigrationTests
{
    private static readonly TimeSpan Second = TimeSpan.FromSeconds(1);

    private readonly ManualTimeProvider _time = new();

    [Fact(Timeout = 90_000)]
    public async Task PerItemTimeout_WithRetries_CoversAllAttempts()
    {
        // Each attempt takes 2 s and fails; the item may take 5.
        int attempts = 0;
        Task<ItemOutcome<int, int>[]> run = new[] { 1 }.SelectParallelOutcomesAsync<int, int>(
            async (_, token) =>
            {
                Task delay = Task.Delay(2 * Second, _time, token);
                Interlocked.Increment(ref attempts);
                await delay;
                throw new TimeoutException();
            },
            new ParallelRunOptions { TimeProvider = _time, MaxRetries = 100, BaseDelay = TimeSpan.Zero, PerItemTimeout = 5 * Second });

        // The clock moves only while an attempt waits: one that fails after its item's time is up ends the item with its own failure.
        for (int attempt = 1; attempt <= 3; attempt++)
        {
            await Guard.UntilAsync(
                () =>
                {
                    // A wait of no length ends when the clock is moved, by however little.
                    _time.Advance(TimeSpan.Zero);
                    return Volatile.Read(ref attempts) == attempt;
                },
                $"attempt {attempt}");
            _time.Advance(attempt < 3 ? 2 * Second : Second);
        }

        Assert.Equal(ItemStatus.TimedOut, (await run.WithinAsync())[0].Status);
        Assert.Equal(3, attempts);
    }

    [Fact(Timeout = 90_000)]
    public async Task AttemptTimeout_WithRetries_IsOfOneAttempt()
    {
        int attempts = 0;
        Task<List<int>> run = new[] { 7 }.SelectParallelAsync(
            async (x, token) =>
            {
                if (++attempts < 4)
                {
                    await Task.Delay(Timeout.InfiniteTimeSpan, _time, token);
                }

                return x;
            },
            new ParallelRunOptions { TimeProvider = _time, MaxRetries = 10_000, BaseDelay = TimeSpan.Zero, AttemptTimeout = 5 * Second });
        await _time.PaceAsync(run, Second);
        Assert.Equal([7], await run);

        // The clock goes on while an attempt begins, so one more may run out of time.
        Assert.InRange(attempts, 4, 10_001);
    }

    [Theory(Timeout = 90_000)]
    [InlineData(false, new[] { 0, 1, 2, 0 })]
    [InlineData(true, new[] { 0, 0, 1, 2 })]
    public async Task Retry_AtALimitOfOne_IsPassedByOthersUnlessTheyShareAKey(bool keyed, int[] expected)
    {
        List<int> order = [];
        ValueTask Call(int x, CancellationToken token)
        {
            order.Add(x);
            return x == 0 && order.Count == 1 ? throw new TimeoutException() : default;
        }

        ParallelRunOptions options = new() { TimeProvider = _time, MaxDegreeOfParallelism = 1, MaxRetries = 1, BaseDelay = Second };
        Task run = keyed
            ? Enumerable.Range(0, 3).PartitionBy(static _ => 0).ForEachParallelAsync(Call, options)
            : Enumerable.Range(0, 3).ForEachParallelAsync(Call, options);
        if (!keyed)
        {
            // The clock stands still until the others have passed.
            await Guard.UntilAsync(() => order.Count == 3, "the items that pass");
        }

        await _time.DriveAsync(run, Second);
        Assert.Equal(expected, order);
    }

    [Theory]
    [InlineData("Weir", typeof(ParallelRunOptions))]
    [InlineData("Weir", typeof(ProgressOptions))]
    [InlineData("Weir.Resilience", typeof(CircuitBreakerOptions))]
    [InlineData("Weir.Observability", typeof(WeirDiagnostics))]
    [InlineData("Weir.Polly", typeof(Weir.Polly.PollyPipelines))]
    public void Using_OfANamespaceThatTakesThePlaceOfOneThere_HasPublicTypes(string name, Type type)
    {
        Assert.True(type.IsPublic);
        Assert.Equal(name, type.Namespace);
    }

    [Fact]
    public void Options_AreCopiedByWith()
    {
        ParallelRunOptions options = new() { MaxRetries = 2, CircuitBreaker = new CircuitBreakerOptions { FailureThreshold = 9 } };
        ParallelRunOptions copy = options with { MaxRetries = 3 };
        Assert.Equal((2, 3), (options.MaxRetries, copy.MaxRetries));
        Assert.Same(options.CircuitBreaker, copy.CircuitBreaker);
        Assert.Equal(options, copy with { MaxRetries = 2 });
        Assert.All(
            new[]
            {
                typeof(ParallelRunOptions), typeof(CircuitBreakerOptions), typeof(RateLimitOptions), typeof(AdaptiveConcurrencyOptions),
                typeof(ProgressOptions), typeof(MetricsOptions),
            },
            static type => Assert.Empty(Assert.Single(type.GetConstructors()).GetParameters()));
    }

    [Theory]
    [InlineData(nameof(ParallelRunOptions.MaxDegreeOfParallelism), 3)]
    [InlineData(nameof(ParallelRunOptions.OrderedOutput), true)]
    [InlineData(nameof(ParallelRunOptions.PerItemTimeout), "00:00:03")]
    [InlineData(nameof(ParallelRunOptions.ErrorMode), ErrorMode.BestEffort)]
    public async Task Options_FieldsBehindTheProperties_AreWhereRivuletsHostingSetsThem(string property, object value)
    {
        object set = value is string text ? TimeSpan.Parse(text, System.Globalization.CultureInfo.InvariantCulture) : value;
        ParallelRunOptions options = new();
        typeof(ParallelRunOptions).GetField($"<{property}>k__BackingField", BindingFlags.Instance | BindingFlags.NonPublic)!.SetValue(options, set);
        Assert.Equal(set, typeof(ParallelRunOptions).GetProperty(property)!.GetValue(options));
        Assert.Equal([2], await new[] { 1 }.SelectParallelAsync(Selectors.Twice, options));
    }

    [Fact(Timeout = 90_000)]
    public async Task ActiveWorkers_OfTheFinalSample_AreNone()
    {
        MetricsSnapshot? last = null;
        await new[] { 1, 2, 3 }.SelectParallelAsync(
            Selectors.Twice,
            new()
            {
                MaxDegreeOfParallelism = 2,
                Metrics = new MetricsOptions
                {
                    SampleInterval = Timeout.InfiniteTimeSpan,
                    OnMetricsSample = sample =>
                    {
                        last = sample;
                        return default;
                    },
                },
            });
        Assert.Equal((true, 0, 2), (last!.IsFinal, last.ActiveWorkers, last.ConcurrencyLimit));
    }

    [Fact(Timeout = 90_000)]
    public async Task CircuitBreakerOpenException_OfARejectedCall_HasStateAndTime()
    {
        ItemOutcome<int, int>[] outcomes = await new[] { 1, 2 }.SelectParallelOutcomesAsync<int, int>(
            static (_, _) => throw new TimeoutException(),
            new()
            {
                MaxDegreeOfParallelism = 1, TimeProvider = _time, CircuitBreaker = new CircuitBreakerOptions { FailureThreshold = 1, OpenTimeout = Second },
            });
        CircuitBreakerOpenException refused = Assert.IsType<CircuitBreakerOpenException>(outcomes[1].Error);
        Assert.Equal((CircuitBreakerState.Open, Second, "The circuit is open."), (refused.State, refused.RetryAfter, refused.Message));
    }

    [Fact(Timeout = 90_000)]
    public async Task TokenBucket_WaitAsync_TakesTheTokens()
    {
        TokenBucket bucket = new(new RateLimitOptions { TokensPerSecond = 1, BurstCapacity = 2, TimeProvider = _time });
        await bucket.WaitAsync(CancellationToken.None);
        Assert.Equal((true, false), (bucket.TryEnter(), bucket.TryEnter()));
    }

    [Fact]
    public void Snapshots_RatesAndShares_AreComputed()
    {
        ProgressSnapshot progress = new() { Started = 60, Succeeded = 40, Failed = 10, TotalItems = 100, Elapsed = 10 * Second, IsFinal = false };
        Assert.Equal((4, 50, 10 * Second), (progress.ItemsPerSecond, progress.PercentComplete, progress.EstimatedTimeRemaining));
        MetricsSnapshot metrics = new()
        {
            ActiveWorkers = 10, ConcurrencyLimit = 10, QueueDepth = 0, WaitingForRetry = 0, Started = 60, Succeeded = 40, Failed = 10,
            Retries = 0,
            ThrottleEvents = 0, DrainEvents = 0, Elapsed = 10 * Second, IsFinal = false,
        };
        Assert.Equal((4, 0.2), (metrics.ItemsPerSecond, metrics.FailureRate));
        Assert.All(
            new[]
            {
                typeof(ProgressSnapshot).GetProperty("ItemsPerSecond"), typeof(ProgressSnapshot).GetProperty("PercentComplete"),
                typeof(ProgressSnapshot).GetProperty("EstimatedTimeRemaining"), typeof(MetricsSnapshot).GetProperty("ItemsPerSecond"),
                typeof(MetricsSnapshot).GetProperty("FailureRate"),
            },
            static property => Assert.False(property!.CanWrite));
    }

    [Fact]
    public void AdaptiveConcurrency_Defaults_AreTheseHere()
    {
        AdaptiveConcurrencyOptions options = new();
        Assert.Equal((1, 200, AdaptiveConcurrencyStrategy.Gradient, 0.95),
            (options.MinConcurrency, options.MaxConcurrency, options.IncreaseStrategy, options.TargetPercentile));
    }

    [Fact]
    public void Snapshots_Counts_HaveTheSameWords()
    {
        Type[] counted = [typeof(ProgressSnapshot), typeof(MetricsSnapshot), typeof(RunControlSnapshot), typeof(RuntimeStatistics)];
        string[] others = ["Begun", "ItemsStarted", "ItemsCompleted", "ErrorCount", "TotalFailures", "TotalRetries", "FailedOrCancelled"];
        Assert.All(counted, static type => Assert.Equal(
            (typeof(long), typeof(long)), (type.GetProperty("Succeeded")?.PropertyType, type.GetProperty("Failed")?.PropertyType)));
        Assert.All(counted, type => Assert.DoesNotContain(type.GetProperties(), property => others.Contains(property.Name)));
    }

    [Fact]
    public void Snapshots_Counts_AreLong()
    {
        string[] counts = [nameof(ProgressSnapshot.Started), nameof(ProgressSnapshot.Succeeded), nameof(ProgressSnapshot.Failed)];
        Assert.All(counts, static name => Assert.Equal(typeof(long), typeof(ProgressSnapshot).GetProperty(name)!.PropertyType));
        Assert.Equal(typeof(long), typeof(MetricsSnapshot).GetProperty(nameof(MetricsSnapshot.QueueDepth))!.PropertyType);
        Assert.Equal(typeof(long?), typeof(ProgressSnapshot).GetProperty(nameof(ProgressSnapshot.TotalItems))!.PropertyType);
    }

    [Theory]
    [InlineData(AdaptiveConcurrencyStrategy.Gradient, 0)]
    [InlineData(AdaptiveConcurrencyStrategy.AIMD, 1)]
    [InlineData(AdaptiveConcurrencyStrategy.Aggressive, 2)]
    [InlineData(AdaptiveConcurrencyStrategy.Gradual, 3)]
    public void Strategies_HaveTheseNumbers(AdaptiveConcurrencyStrategy strategy, int number) => Assert.Equal(number, (int)strategy);

    [Fact(Timeout = 90_000)]
    public async Task EventCounters_AreInstrumentsOfTheMeter()
    {
        // Another test's run may be the one that makes them, on its thread.
        ConcurrentDictionary<string, bool> instruments = [];
        using MeterListener listener = new();
        listener.InstrumentPublished = (instrument, _) =>
        {
            if (instrument.Meter.Name == WeirDiagnostics.MeterName)
            {
                instruments[instrument.Name] = true;
            }
        };
        listener.Start();
        await new[] { 1 }.ForEachParallelAsync(static (_, _) => default);
        string[] expected = ["weir.items", "weir.items.active", "weir.retries", "weir.throttles", "weir.drains"];
        await Guard.UntilAsync(() => expected.All(instruments.ContainsKey), "the instruments");

        // That of snapshots, which weir top asks, has no counters.
        Assert.DoesNotContain(EventSource.GetSources(), static source =>
            (source.Name.StartsWith("Weir", StringComparison.Ordinal) && source.Name != "Weir-Live") || source.Name.StartsWith("Rivulet", StringComparison.Ordinal));
    }

    [Fact(Timeout = 90_000)]
    public async Task Fallback_OfOptionsThatAreShared_IsGivenToEachOperatorByWith()
    {
        ParallelRunOptions shared = new() { ErrorMode = ErrorMode.BestEffort, OnFallback = Fallback.Of(static (_, _) => -1) };
        int[] items = [1, 2];
        Assert.Equal([-1, -1], await items.SelectParallelAsync<int, int>(static (_, _) => throw new FormatException(), shared));
        ArgumentException text =
            Assert.Throws<ArgumentException>("OnFallback", () => { _ = items.SelectParallelAsync(static (_, _) => new ValueTask<string>(""), shared); });
        Assert.Contains("String", text.Message, StringComparison.Ordinal);
        Assert.Throws<ArgumentException>("OnFallback", () => { _ = items.ForEachParallelAsync(static (_, _) => default, shared); });
        Assert.Equal(["?", "?"], await items.SelectParallelAsync<int, string>(
            static (_, _) => throw new FormatException(), shared with { OnFallback = Fallback.Of(static (_, _) => "?") }));
        await items.ForEachParallelAsync(static (_, _) => throw new FormatException(), shared with { OnFallback = null });
    }

    [Fact(Timeout = 90_000)]
    public async Task SourceList_Grows_FailsTheRun()
    {
        List<int> list = [.. Enumerable.Range(0, 10_000)];
        await Assert.ThrowsAsync<InvalidOperationException>(() => list.ForEachParallelAsync(
            (x, _) =>
            {
                if (x == 0)
                {
                    list.Add(-1);
                }

                return default;
            },
            new ParallelRunOptions { MaxDegreeOfParallelism = 1 }));
    }
}
