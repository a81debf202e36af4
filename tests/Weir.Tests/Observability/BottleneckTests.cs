using System.Diagnostics;
using System.Globalization;
using Weir.Observability;
using Weir.Resilience;
using Weir.Runtimes;

namespace Weir.Tests.Observability;

/// <summary>Bottlenecks are planted in runs, and the watch has to name each of them. Gates hold each of them as it is, so that all samples say the same.</summary>
public sealed class BottleneckTests : IDisposable
{
    private readonly string _name = $"bottleneck.{Guid.NewGuid():N}";
    private readonly Gate _gate = new();
    private readonly CancellationTokenSource _stop = new();

    public void Dispose()
    {
        _gate.Dispose();
        _stop.Cancel();
        _stop.Dispose();
    }

    [Theory(Timeout = 90_000)]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    [InlineData(4)]
    [InlineData(8)]
    [InlineData(16)]
    [InlineData(64)]
    public async Task SlowStage_IsTheWork(int workers)
    {
        int begun = 0;
        Task run = Enumerable.Range(0, 1000).ForEachParallelAsync(
            (_, token) =>
            {
                Interlocked.Increment(ref begun);
                return new ValueTask(_gate.WaitAsync(token));
            },
            Options(workers),
            _stop.Token);

        // Most of the workers are enough for the name; the shares below are those of all.
        while (Volatile.Read(ref begun) < workers)
        {
            await Task.Yield();
        }

        LiveEntry seen = await NamesAsync(LiveReason.SlowStage, "work");
        Assert.Equal(1.0, seen.Stages!.Single(static stage => stage.Name == "work").Busy, 1);
        Assert.Equal(1.0 / workers, seen.Bottleneck!.Gain!.Value, 6);
        Assert.Matches($"^`work` is busy (9.|100) % on {workers} of {workers} worker", seen.Bottleneck.Sentence);
        await EndAsync(run);
    }

    [Theory(Timeout = 90_000)]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(4)]
    [InlineData(8)]
    [InlineData(16)]
    [InlineData(32)]
    public async Task SlowSource_IsTheSource(int workers)
    {
        Task run = Slow().ForEachParallelAsync(static (_, _) => default, Options(workers), _stop.Token);
        LiveEntry seen = await NamesAsync(LiveReason.SlowSource, "source");
        Assert.Null(seen.Bottleneck!.Gain);
        await EndAsync(run);

        async IAsyncEnumerable<int> Slow()
        {
            yield return 1;
            await _gate.WaitAsync(_stop.Token);
        }
    }

    [Theory(Timeout = 90_000)]
    [InlineData(1, 1)]
    [InlineData(2, 1)]
    [InlineData(2, 8)]
    [InlineData(4, 16)]
    [InlineData(8, 64)]
    [InlineData(16, 1024)]
    public async Task SlowConsumer_IsTheConsumer(int workers, int capacity)
    {
        await using IAsyncEnumerator<int> results = Enumerable.Range(0, 100_000)
            .SelectParallelStreamAsync(static (x, _) => new ValueTask<int>(x), Options(workers) with { Output = new OutputOptions { ChannelCapacity = capacity } })
            .GetAsyncEnumerator(_stop.Token);
        Assert.True(await results.MoveNextAsync());
        LiveEntry seen = await NamesAsync(LiveReason.SlowConsumer, "consumer");
        Assert.True(seen.Output > 0);
    }

    [Theory(Timeout = 90_000)]
    [InlineData(3)]
    [InlineData(4)]
    [InlineData(8)]
    [InlineData(16)]
    [InlineData(32)]
    [InlineData(64)]
    public async Task HotKey_HoldsTheWork(int workers)
    {
        Task run = Enumerable.Range(0, 200).PartitionBy(static _ => "hot").ForEachParallelAsync(
            (_, token) => new ValueTask(_gate.WaitAsync(token)), Options(workers), _stop.Token);
        await NamesAsync(LiveReason.HotKey, "work");
        await EndAsync(run);
    }

    [Theory(Timeout = 90_000)]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    [InlineData(4)]
    public async Task StarvedPool_HoldsTheWork(int threads)
    {
        await using ParallelRuntime runtime = new(threads);
        Task other = runtime.ProcessManyAsync(
            Enumerable.Range(0, threads),
            (x, token) =>
            {
                _gate.Wait(token);
                return new ValueTask<int>(x);
            });
        while (runtime.Statistics.InFlight < threads)
        {
            await Task.Yield();
        }

        Task run = runtime.ProcessManyAsync(
            Enumerable.Range(0, 100), static (x, _) => new ValueTask<int>(x), new ProcessManyOptions { OperationName = _name });
        await NamesAsync(LiveReason.StarvedPool, "work");
        _gate.Open();
        await Task.WhenAll(other, run);
    }

    [Theory(Timeout = 90_000)]
    [InlineData(2)]
    [InlineData(3)]
    [InlineData(4)]
    [InlineData(6)]
    [InlineData(8)]
    public async Task Lock_IsWorkThatWaits(int threads)
    {
        await using ParallelRuntime runtime = new(threads);
        Lock one = new();
        Task run;
        using (Gate held = new())
        {
            Task holder = Task.Factory.StartNew(
                () =>
                {
                    lock (one)
                    {
                        held.Open();
                        _gate.Wait();
                    }
                },
                CancellationToken.None,
                TaskCreationOptions.LongRunning,
                TaskScheduler.Default);
            await held.WaitAsync();
            run = runtime.ProcessManyAsync(
                Enumerable.Range(0, 100),
                (x, _) =>
                {
                    lock (one)
                    {
                        return new ValueTask<int>(x);
                    }
                },
                new ProcessManyOptions { OperationName = _name });
            LiveEntry seen = await NamesAsync(LiveReason.Waiting, "work");
            Assert.Null(seen.Bottleneck!.Gain);
            _gate.Open();
            await holder;
        }

        await run;
    }

    [Theory(Timeout = 90_000)]
    [InlineData(4, 1)]
    [InlineData(16, 3)]

    // The work is busy for more of the time than items wait, and yet one more worker would wait as they do.
    [InlineData(4, 3)]
    [InlineData(16, 12)]
    public async Task SharedLimit_HoldsTheWork(int workers, int permits)
    {
        SharedConcurrencyLimit limit = new(permits);
        Task run = Enumerable.Range(0, 1000).ForEachParallelAsync(
            (_, token) => new ValueTask(_gate.WaitAsync(token)), Options(workers) with { ConcurrencyLimit = limit }, _stop.Token);

        // An item is counted as delayed before it says for what it waits, and a busy machine may hold it between the two for long.
        while (WeirDiagnostics.Snapshot().Entries.SingleOrDefault(entry => entry.Name == _name) is not { InFlight: var inside, Waits.ConcurrencyLimit: > 0 } || inside != permits)
        {
            await Task.Yield();
        }

        LiveEntry seen = await NamesAsync(LiveReason.Policy, "work");
        Assert.Contains("a permit of a shared limit", seen.Bottleneck!.Sentence, StringComparison.Ordinal);
        await EndAsync(run);
    }

    [Fact(Timeout = 90_000)]
    public async Task SlowStage_WhileAnItemWaitsForItsNextAttempt_IsTheWork()
    {
        int begun = 0;
        Task run = Enumerable.Range(0, 4).ForEachParallelAsync(
            (item, token) =>
            {
                Interlocked.Increment(ref begun);
                return item == 0 ? throw new TimeoutException() : new ValueTask(_gate.WaitAsync(token));
            },
            Options(4) with { Retry = new() { MaxRetries = 1, IsTransient = static _ => true, BaseDelay = TimeSpan.FromHours(1), MaxDelay = TimeSpan.FromHours(1) } },
            _stop.Token);
        while (Volatile.Read(ref begun) < 4)
        {
            await Task.Yield();
        }

        while (WeirDiagnostics.Snapshot().Entries.SingleOrDefault(entry => entry.Name == _name) is not { InFlight: 3, Waits.Retry: 1 })
        {
            await Task.Yield();
        }

        LiveEntry seen = await NamesAsync(LiveReason.SlowStage, "work");
        LiveStage source = seen.Stages!.Single(static stage => stage.Name == "source");
        Assert.Contains(string.Create(CultureInfo.InvariantCulture, $"; `source` is blocked {100 * source.Blocked:F0} %; "), seen.Bottleneck!.Sentence, StringComparison.Ordinal);
        await EndAsync(run);
    }

    [Fact(Timeout = 90_000)]
    public async Task Shares_OfATimeThatIsHalfSlowSource_AreHalf()
    {
        ManualTimeProvider time = new();
        TaskCompletionSource<bool> next = new(TaskCreationOptions.RunContinuationsAsynchronously);
        Task run = Slow().ForEachParallelAsync((_, token) => new ValueTask(_gate.WaitAsync(token)), Options(1), _stop.Token);
        using LiveWatch watch = WeirDiagnostics.Watch(new LiveWatchOptions { TimeProvider = time, SamplesAlways = true });
        while (Seen(watch)?.Bottleneck?.Reason != LiveReason.SlowSource)
        {
            time.Advance(TimeSpan.FromSeconds(2));
            await Task.Yield();
        }

        // Until as much of the past counts as ever does.
        time.Advance(TimeSpan.FromSeconds(60));
        next.SetResult(true);
        while (Seen(watch) is not { InFlight: 1 })
        {
            time.Advance(TimeSpan.FromMilliseconds(500));
            await Task.Yield();
        }

        // After ln 2 of five seconds, what was before counts half.
        double before = Seen(watch)!.Stages![1].Busy;
        time.Advance(TimeSpan.FromSeconds(3.5));
        double after = Seen(watch)!.Stages![1].Busy;
        Assert.Equal(1 - ((1 - before) * Math.Exp(-3.5 / 5)), after, 2);
        Assert.All(Seen(watch)!.Stages!, static stage => Assert.Equal(1, stage.Busy + stage.Idle + stage.Blocked, 6));
        await EndAsync(run);

        async IAsyncEnumerable<int> Slow()
        {
            await next.Task;
            for (int i = 0; i < 100; i++)
            {
                yield return i;
            }
        }
    }

    private ParallelRunOptions Options(int workers) => new() { OperationName = _name, MaxDegreeOfParallelism = workers };

    private LiveEntry? Seen(LiveWatch watch) => watch.Latest.Entries.SingleOrDefault(entry => entry.Name == _name);

    /// <summary>The watch names the bottleneck once the run has come to it, and goes on to do so.</summary>
    private async Task<LiveEntry> NamesAsync(LiveReason reason, string stage)
    {
        ManualTimeProvider time = new();
        using LiveWatch watch = WeirDiagnostics.Watch(new LiveWatchOptions { TimeProvider = time, SamplesAlways = true });
        long began = Stopwatch.GetTimestamp();

        // The clock of the watch is far faster than that of the run: what it sees at first is how the run comes to where it stays.
        for (int same = 0; same < 20; same++)
        {
            Assert.True(Stopwatch.GetElapsedTime(began) < TimeSpan.FromSeconds(30), $"Named was: {Seen(watch)?.Bottleneck}");
            time.Advance(TimeSpan.FromSeconds(2));
            await Task.Yield();
            LiveBottleneck? named = Seen(watch)?.Bottleneck;
            same = named?.Reason == reason && named.Stage == stage ? same : -1;
        }

        return Seen(watch)!;
    }

    private async Task EndAsync(Task run)
    {
        await _stop.CancelAsync();
        _gate.Open();
        await run.ContinueWith(static _ => { }, CancellationToken.None, TaskContinuationOptions.None, TaskScheduler.Default);
    }
}
