using System.Threading.Channels;
using Weir.TestKit;

namespace Weir.Tests.Observability;

public class MetricsTests
{
    private static readonly TimeSpan Second = TimeSpan.FromSeconds(1);

    private readonly ManualTimeProvider _time = new();
    private readonly Channel<MetricsSnapshot> _samples = Channel.CreateUnbounded<MetricsSnapshot>();

    private ParallelRunOptions Options => new()
    {
        MaxDegreeOfParallelism = 3,
        TimeProvider = _time,
        Metrics = new MetricsOptions { SampleInterval = Second, OnMetricsSample = s => _samples.Writer.WriteAsync(s) },
    };

    [Fact(Timeout = 90_000)]
    public async Task Sample_WhileItemsRunAndWait_HasTheTrueValues()
    {
        // Of six items, 0 has ended, 1 waits for its retry for an hour, three others are inside their calls, and the last has not begun.
        using Gate gate = new();
        TaskCompletionSource inside = new(TaskCreationOptions.RunContinuationsAsynchronously);
        TaskCompletionSource retried = new(TaskCreationOptions.RunContinuationsAsynchronously);
        int calls = 0;
        int failed = 0;
        Task<List<int>> run = Enumerable.Range(0, 6).SelectParallelAsync(
            async (x, token) =>
            {
                if (x == 1 && Interlocked.Exchange(ref failed, 1) == 0)
                {
                    throw new FormatException();
                }

                if (x > 1)
                {
                    if (Interlocked.Increment(ref calls) == 3)
                    {
                        inside.SetResult();
                    }

                    await gate.WaitAsync(token);
                }

                return x;
            },
            Options with
            {
                Retry = new()
                {
                    MaxRetries = 1,
                    IsTransient = static e => e is FormatException,
                    BaseDelay = TimeSpan.FromHours(1),
                    BackoffStrategy = Resilience.BackoffStrategy.Linear,
                    MaxDelay = TimeSpan.FromHours(2),
                },
                OnRetryAsync = (_, _, _) =>
                {
                    retried.SetResult();
                    return default;
                },
            });
        await inside.Task;
        await retried.Task;
        MetricsSnapshot sample;
        do
        {
            // The worker that made item 1 wait may still be on its way to the next one.
            sample = await NextTickAsync();
        }
        while (sample.WaitingForRetry == 0 || sample.ActiveWorkers < 3);
        Assert.Equal((3, 3), (sample.ActiveWorkers, sample.ConcurrencyLimit));
        Assert.Equal((1, 0, 1), (sample.Succeeded, sample.Failed, sample.Retries));
        Assert.Equal((5, 1), (sample.Started, sample.WaitingForRetry));
        Assert.InRange(sample.QueueDepth, 1, 2);
        Assert.Equal((0, 0), (sample.ThrottleEvents, sample.DrainEvents));
        Assert.False(sample.IsFinal);

        // In steps shorter than a callback may take: a longer one that goes on while the run ends would be the end of the wait for the last samples.
        gate.Open();
        while (!run.IsCompleted)
        {
            if (_time.ArmedTimers > 1)
            {
                _time.Advance(Second / 4);
            }

            await Task.Yield();
        }

        Assert.Equal([0, 1, 2, 3, 4, 5], await run);
        MetricsSnapshot last = await LastAsync();
        Assert.Equal((6, 0, 1), (last.Succeeded, last.Failed, last.Retries));
        Assert.Equal((0, 0L, 0, 0.0), (last.ActiveWorkers, last.QueueDepth, last.WaitingForRetry, last.FailureRate));
        Assert.Equal(0, _time.LiveTimers);
    }

    [Fact(Timeout = 90_000)]
    public async Task Sample_OfAStreamWhoseConsumerIsBehind_TellsOfPausesAndOfWhatNobodyHasTaken()
    {
        // A limit of 1 and room for 2: three items end, and the fourth may not begin.
        IAsyncEnumerator<int> stream = Enumerable.Range(0, 8).SelectParallelStreamAsync(
            static (x, _) => new ValueTask<int>(x), Options with { MaxDegreeOfParallelism = 1, ChannelCapacity = 2 })
                .GetAsyncEnumerator(TestContext.Current.CancellationToken);
        Assert.True(await stream.MoveNextAsync());
        MetricsSnapshot sample;
        do
        {
            sample = await NextTickAsync();
        }
        while (sample.ActiveWorkers > 0 || sample.ThrottleEvents == sample.DrainEvents);
        Assert.InRange(sample.QueueDepth, 2, 3);
        Assert.Equal(sample.ThrottleEvents - 1, sample.DrainEvents);
        while (await stream.MoveNextAsync())
        {
        }

        await stream.DisposeAsync();
        MetricsSnapshot last = await LastAsync();
        Assert.Equal(8, last.Succeeded);

        // It is taken before the consumer has the end, and so perhaps the last results.
        Assert.InRange(last.QueueDepth, 0, 3);
        Assert.InRange(last.ThrottleEvents, 1, 8);
        Assert.InRange(last.ThrottleEvents - last.DrainEvents, 0, 1);
    }

    [Fact(Timeout = 90_000)]
    public async Task FinalSample_OfARunWithFailures_CountsThemOnceEach()
    {
        await Enumerable.Range(0, 10).SelectParallelAsync(
            static (x, _) => x % 5 == 0 ? throw new FormatException() : new ValueTask<int>(x), Options with { ErrorMode = ErrorMode.BestEffort });
        MetricsSnapshot last = await LastAsync();
        Assert.Equal((10, 8, 2), (last.Started, last.Succeeded, last.Failed));
        Assert.Equal(0.2, last.FailureRate);
    }

    [Fact(Timeout = 90_000)]
    public async Task FinalSample_OneFailureThatCancelsTheOthers_CountsOneFailure()
    {
        using Gate gate = new();
        ConcurrencyProbe probe = new();
        Task run = Enumerable.Range(0, 16).SelectParallelAsync(
            async (x, token) =>
            {
                using (probe.Enter())
                {
                    await gate.WaitAsync();
                    await (x == 7 ? Task.FromException(new FormatException()) : Task.Delay(Timeout.InfiniteTimeSpan, TimeProvider.System, token));
                    return x;
                }
            },
            Options with { MaxDegreeOfParallelism = 16 });
        await probe.InsideAsync(16);
        gate.Open();
        await Assert.ThrowsAsync<FormatException>(() => run);
        MetricsSnapshot last = await LastAsync();
        Assert.Equal((16, 0, 1), (last.Started, last.Succeeded, last.Failed));
        Assert.Equal((0, 0L, 0, 1.0), (last.ActiveWorkers, last.QueueDepth, last.WaitingForRetry, last.FailureRate));
    }

    [Fact(Timeout = 90_000)]
    public async Task FinalSample_OfARunStoppedWhileItemsWaitForARetry_SaysThatNoneWaits()
    {
        using CancellationTokenSource stop = new();
        int failures = 0;
        TaskCompletionSource all = new(TaskCreationOptions.RunContinuationsAsynchronously);
        Task run = Enumerable.Range(0, 10).SelectParallelAsync<int, int>(
            (_, _) =>
            {
                if (Interlocked.Increment(ref failures) == 10)
                {
                    all.SetResult();
                }

                throw new FormatException();
            },
            Options with
            {
                MaxDegreeOfParallelism = 10,
                Retry = new()
                {
                    MaxRetries = 1,
                    IsTransient = static _ => true,
                    BaseDelay = TimeSpan.FromHours(1),
                    BackoffStrategy = Resilience.BackoffStrategy.Linear,
                    MaxDelay = TimeSpan.FromHours(2),
                },
            },
            stop.Token);
        await all.Task;
        await stop.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => run);
        MetricsSnapshot last = await LastAsync();
        Assert.Equal((10, 0, 0), (last.Started, last.Succeeded, last.WaitingForRetry));
        Assert.Equal((0, 0L), (last.ActiveWorkers, last.QueueDepth));
    }

    [Fact(Timeout = 90_000)]
    public async Task Callback_ThatNeverReturns_DelaysTheEndByItsTimeoutAndNoMore()
    {
        TaskCompletionSource never = new();
        Task<List<int>> run = new[] { 1 }.SelectParallelAsync(
            static (x, _) => new ValueTask<int>(x),
            Options with { Metrics = new MetricsOptions { OnMetricsSample = _ => new ValueTask(never.Task), CallbackTimeout = 3 * Second } });
        await Guard.UntilAsync(() => _time.NextDue == 3 * Second, "the timer of the callback");
        _time.Advance(2.9 * Second);
        Assert.False(run.IsCompleted);
        _time.Advance(0.1 * Second);
        Assert.Equal([1], await run);
        never.SetResult();
    }

    private ValueTask<MetricsSnapshot> NextAsync() => _samples.Reader.ReadAsync(TestContext.Current.CancellationToken);

    private Task<MetricsSnapshot> NextTickAsync() => _samples.Reader.NextTickAsync(_time, Second);

    private async Task<MetricsSnapshot> LastAsync()
    {
        MetricsSnapshot sample = await NextAsync();
        while (!sample.IsFinal)
        {
            sample = await NextAsync();
        }

        Assert.False(_samples.Reader.TryPeek(out _));
        return sample;
    }
}
