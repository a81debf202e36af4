using System.Collections.Concurrent;
using Polly;
using Polly.CircuitBreaker;
using Polly.Fallback;
using Polly.Hedging;
using Polly.Retry;
using Polly.Timeout;
using Weir.Runtimes;

namespace Weir.Polly.Tests;

/// <summary>Pipelines of Polly around items: their strategies act for each item, and the run's end ends them.</summary>
public class PollyPipelinesTests
{
    private const int Timeout = 60_000;
    private static readonly TimeSpan Second = TimeSpan.FromSeconds(1);

    private readonly ManualTimeProvider _time = new();

    private int _completed;

    private ParallelRunOptions Options => new() { MaxDegreeOfParallelism = 4, TimeProvider = _time };

    /// <summary>The same, with a count of the items that have ended well.</summary>
    private ParallelRunOptions Completing => Options with
    {
        OnCompleteItemAsync = _ =>
        {
            Interlocked.Increment(ref _completed);
            return default;
        },
    };

    [Fact(Timeout = Timeout)]
    public async Task Around_Retry_RepeatsTheCallOfEachItem()
    {
        ConcurrentDictionary<int, int> attempts = new();
        ResiliencePipeline pipeline = Builder().AddRetry(new RetryStrategyOptions { MaxRetryAttempts = 2, Delay = Second }).Build();
        Task<List<int>> run = Enumerable.Range(0, 20).SelectParallelAsync(
            pipeline.Around((int x, CancellationToken _) =>
                attempts.AddOrUpdate(x, 1, static (_, n) => n + 1) == 1 && x % 5 == 0 ? throw new IOException() : new ValueTask<int>(x * 2)),
            Options);
        await _time.DriveAsync(run, Second);
        Assert.Equal(Enumerable.Range(0, 20).Select(static x => x * 2), await run);
        Assert.Equal(24, attempts.Values.Sum());
    }

    [Fact(Timeout = Timeout)]
    public async Task Around_Hedging_TheQuickerAttemptGivesTheResultAndTheOtherIsCancelled()
    {
        ConcurrentDictionary<int, int> attempts = new();
        int cancelled = 0;
        ResiliencePipeline<int> pipeline = new ResiliencePipelineBuilder<int> { TimeProvider = _time }
            .AddHedging(new HedgingStrategyOptions<int> { MaxHedgedAttempts = 1, Delay = Second })
            .Build();
        Task<List<int>> run = Enumerable.Range(0, 10).SelectParallelAsync(
            pipeline.Around(async (int x, CancellationToken token) =>
            {
                if (attempts.AddOrUpdate(x, 1, static (_, n) => n + 1) == 1 && x % 3 == 0)
                {
                    try
                    {
                        await Task.Delay(System.Threading.Timeout.InfiniteTimeSpan, _time, token);
                    }
                    finally
                    {
                        Interlocked.Increment(ref cancelled);
                    }
                }

                return x;
            }),
            Completing);
        await _time.DriveAsync(run, Second, () => Volatile.Read(ref _completed) == 6 && attempts.Count == 10 && _time.ArmedTimers >= 4);
        Assert.Equal(Enumerable.Range(0, 10), await run);
        Assert.Equal(14, attempts.Values.Sum());
        await Guard.UntilAsync(() => Volatile.Read(ref cancelled) == 4, "the end of the slower attempts");
    }

    [Fact(Timeout = Timeout)]
    public async Task Around_CircuitBreaker_IsOneForAllItems()
    {
        int calls = 0;
        ResiliencePipeline pipeline = Builder()
            .AddCircuitBreaker(
                new CircuitBreakerStrategyOptions { MinimumThroughput = 3, FailureRatio = 0.5, SamplingDuration = Second * 10, BreakDuration = Second * 10 })
            .Build();
        ItemOutcome<int, int>[] outcomes = await Enumerable.Range(0, 50).SelectParallelOutcomesAsync(
            pipeline.Around<int, int>((_, _) =>
            {
                Interlocked.Increment(ref calls);
                throw new IOException();
            }),
            Options with { MaxDegreeOfParallelism = 1 });
        Assert.Equal(3, calls);
        Assert.Equal(47, outcomes.Count(static o => o.Error is BrokenCircuitException));
    }

    [Fact(Timeout = Timeout)]
    public async Task Around_Fallback_GivesTheResultOfTheItem()
    {
        ResiliencePipeline<int?> pipeline = new ResiliencePipelineBuilder<int?>()
            .AddFallback(new FallbackStrategyOptions<int?> { FallbackAction = static _ => Outcome.FromResultAsValueTask<int?>(null) })
            .Build();
        List<int?> results = await new[] { 1, 2 }.SelectParallelAsync(
            pipeline.Around((int x, CancellationToken _) => x == 1 ? throw new IOException() : new ValueTask<int?>(x)), Options);
        Assert.Equal([null, 2], results);
    }

    [Fact(Timeout = Timeout)]
    public async Task Around_Timeout_IsTheFailureOfTheItem()
    {
        int begun = 0;
        ResiliencePipeline pipeline = Builder().AddTimeout(Second).Build();
        Task<ItemOutcome<int, int>[]> run = Enumerable.Range(0, 4).SelectParallelOutcomesAsync(
            pipeline.Around(async (int x, CancellationToken token) =>
            {
                Interlocked.Increment(ref begun);
                await Task.Delay(x % 2 == 0 ? System.Threading.Timeout.InfiniteTimeSpan : TimeSpan.Zero, _time, token);
                return x;
            }),
            Completing);
        await _time.DriveAsync(run, Second, () => Volatile.Read(ref _completed) == 2 && Volatile.Read(ref begun) == 4);
        ItemOutcome<int, int>[] outcomes = await run;
        Assert.All([outcomes[0], outcomes[2]], static o => Assert.IsType<TimeoutRejectedException>(o.Error));
        Assert.All([outcomes[1], outcomes[3]], static o => Assert.True(o.IsSuccess));
    }

    [Fact(Timeout = Timeout)]
    public async Task Around_TheCallerCancels_EndsAsCancelledWithTheCallersTokenAndNoFurtherAttempt()
    {
        using CancellationTokenSource cancel = new();
        int calls = 0;
        ResiliencePipeline pipeline = Builder().AddRetry(new RetryStrategyOptions { MaxRetryAttempts = 5, Delay = Second }).AddTimeout(Second * 100).Build();
        Task<List<int>> run = Enumerable.Range(0, 4).SelectParallelAsync(
            pipeline.Around<int, int>((_, _) =>
            {
                Interlocked.Increment(ref calls);
                throw new IOException();
            }),
            Options,
            cancel.Token);
        await Guard.UntilAsync(() => _time.ArmedTimers == 4 && Volatile.Read(ref calls) == 4, "all items waiting for their next attempt");
        await cancel.CancelAsync();
        OperationCanceledException error = await Assert.ThrowsAnyAsync<OperationCanceledException>(() => run.WithinAsync());
        Assert.Equal(cancel.Token, error.CancellationToken);
        Assert.Equal(4, calls);
        await Guard.UntilAsync(() => _time.ArmedTimers == 0, "the end of all delays");
    }

    [Fact(Timeout = Timeout)]
    public async Task Around_LeavingAStream_EndsTheWaitsOfPolly()
    {
        ResiliencePipeline pipeline = Builder().AddRetry(new RetryStrategyOptions { MaxRetryAttempts = 5, Delay = Second * 1_000 }).Build();
        await foreach (int result in Enumerable.Range(0, 100).SelectParallelStreamAsync(
            pipeline.Around((int x, CancellationToken _) => x % 2 == 0 ? throw new IOException() : new ValueTask<int>(x)), Options))
        {
            Assert.Equal(1, result % 2);
            break;
        }

        await Guard.UntilAsync(() => _time.ArmedTimers == 0, "the end of all delays");
    }

    [Fact(Timeout = Timeout)]
    public async Task Around_AnAction_IsForForEach()
    {
        int calls = 0;
        ResiliencePipeline pipeline = Builder().AddRetry(new RetryStrategyOptions { MaxRetryAttempts = 1, Delay = TimeSpan.Zero }).Build();
        Func<int, CancellationToken, ValueTask> flaky = (_, _) => Interlocked.Increment(ref calls) == 1 ? throw new IOException() : default;
        Task run = Enumerable.Range(0, 10).ForEachParallelAsync(pipeline.Around(flaky), Options);
        await _time.DriveAsync(run, Second);
        Assert.Equal(11, calls);
    }

    [Fact(Timeout = Timeout)]
    public async Task Around_ARuntime_GoesThroughThePipelineToo()
    {
        int calls = 0;
        ResiliencePipeline pipeline =
            new ResiliencePipelineBuilder().AddRetry(new RetryStrategyOptions { MaxRetryAttempts = 1, Delay = TimeSpan.Zero }).Build();
        await using ConcurrentRuntime runtime = new();
        ItemOutcome<int, int>[] outcomes = await runtime.ProcessManyAsync(
            [1, 2, 3],
            pipeline.Around((int x, CancellationToken _) => Interlocked.Increment(ref calls) == 1 ? throw new IOException() : new ValueTask<int>(x)));
        Assert.Equal([1, 2, 3], outcomes.Select(static o => o.Value));
        Assert.Equal(4, calls);
    }

    [Fact]
    public void Around_NullArguments_AreRefused()
    {
        Func<int, CancellationToken, ValueTask<int>> selector = static (x, _) => new(x);
        Func<int, CancellationToken, ValueTask> action = static (_, _) => default;
        Assert.Equal("pipeline", Assert.Throws<ArgumentNullException>(() => ((ResiliencePipeline)null!).Around(selector)).ParamName);
        Assert.Equal("pipeline", Assert.Throws<ArgumentNullException>(() => ((ResiliencePipeline<int>)null!).Around(selector)).ParamName);
        Assert.Equal("pipeline", Assert.Throws<ArgumentNullException>(() => ((ResiliencePipeline)null!).Around(action)).ParamName);
        Assert.Equal("selector", Assert.Throws<ArgumentNullException>(() => ResiliencePipeline.Empty.Around<int, int>(null!)).ParamName);
        Assert.Equal("selector", Assert.Throws<ArgumentNullException>(() => ResiliencePipeline<int>.Empty.Around<int, int>(null!)).ParamName);
        Assert.Equal("action", Assert.Throws<ArgumentNullException>(() => ResiliencePipeline.Empty.Around<int>(null!)).ParamName);
    }

    private ResiliencePipelineBuilder Builder() => new() { TimeProvider = _time };
}
