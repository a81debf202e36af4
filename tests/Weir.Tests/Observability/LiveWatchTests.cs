using Weir.Observability;
using Weir.Resilience;

namespace Weir.Tests.Observability;

public class LiveWatchTests
{
    private static readonly TimeSpan Second = TimeSpan.FromSeconds(1);

    [Fact(Timeout = 90_000)]
    public async Task Rates_AreThoseOfTheLastSecondAndMinute_AndTheEndFollows()
    {
        ManualTimeProvider time = new();
        using Feed feed = new(time, "watch.rates", total: 1000);
        using LiveWatch watch = WeirDiagnostics.Watch(new LiveWatchOptions { TimeProvider = time });
        Assert.True(watch.Latest.IsWatched);
        Assert.Null(Of(watch.Latest, "watch.rates").Rate1s);
        for (int second = 0; second < 60; second++)
        {
            await feed.PassAsync(2);
            time.Advance(Second);
        }

        await feed.PassAsync(50);
        time.Advance(Second);
        LiveEntry seen = Of(watch.Latest, "watch.rates");
        Assert.Equal((50, 170), (seen.Rate1s, seen.Done));
        Assert.Equal(168 / 60.0, seen.Rate1m!.Value, 6);
        Assert.Equal(170 / 61.0, seen.Rate!.Value, 6);
        Assert.Equal((1000 - 170) / seen.Rate1m.Value, (seen.EstimatedEnd!.Value - watch.Latest.Time).TotalSeconds, 3);

        // A snapshot in between has the looks so far.
        await feed.PassAsync(10);
        LiveEntry now = Of(watch.Snapshot(), "watch.rates");
        Assert.Equal((180, 60), (now.Done, now.Rate1s));
    }

    [Fact(Timeout = 90_000)]
    public async Task History_HasAPointAtEachStep_AndNoMoreThanItKeeps()
    {
        ManualTimeProvider time = new();
        using Feed feed = new(time, "watch.history", total: 1000);
        using LiveWatch watch = WeirDiagnostics.Watch(new LiveWatchOptions
        {
            TimeProvider = time, History = 60 * Second, HistoryStep = 10 * Second, Interval = Second,
        });
        string id = Of(watch.Latest, "watch.history").Id;
        for (int second = 0; second < 200; second++)
        {
            await feed.PassAsync(1);
            time.Advance(Second);
        }

        IReadOnlyList<LivePoint> points = watch.History(id).Points;
        Assert.Equal(6, points.Count);
        Assert.All(points.Zip(points.Skip(1)), static pair => Assert.Equal(10 * Second, pair.Second.Time - pair.First.Time));
        Assert.All(points, static point => Assert.Equal((1.0, LiveState.Running), (point.Rate!.Value, point.State)));
        await feed.EndAsync();
        time.Advance(2 * Second);
        Assert.Empty(watch.History(id).Points);
        Assert.Empty(watch.History("run-0").Points);
    }

    [Fact]
    public void Watch_Disposed_HasNoTimer()
    {
        ManualTimeProvider time = new();
        LiveWatch watch = WeirDiagnostics.Watch(new LiveWatchOptions { TimeProvider = time });
        Assert.Equal(2, time.LiveTimers);
        watch.Dispose();
        Assert.Equal(0, time.LiveTimers);
        watch.Dispose();
    }

    [Fact(Timeout = 90_000)]
    public async Task IdleInterval_LooksSeldomUntilSomebodyAsks_AndForgetsTheSharesOfTime()
    {
        ManualTimeProvider time = new();
        using Feed feed = new(time, "watch.idle", total: 1000);
        using LiveWatch watch = WeirDiagnostics.Watch(new LiveWatchOptions
        {
            TimeProvider = time, IdleInterval = 10 * Second, History = 100 * Second, SamplesAlways = true,
        });
        await feed.PassAsync(30);
        time.Advance(30 * Second);
        Assert.Equal((1, 40 * Second), (time.ArmedTimers, time.NextDue));

        // The first who asks gets what the last look saw, and from then on looks are as often as the interval says.
        LiveEntry first = Of(watch.Latest, "watch.idle");
        Assert.Equal((30, null, 30 * Second), (first.Done, first.Stages, watch.Latest.Time - new ManualTimeProvider().GetUtcNow()));
        Assert.True(time.IsArmedFor(30.1 * Second));
        await feed.PassAsync(5);
        time.Advance(Second);
        LiveEntry awake = Of(watch.Latest, "watch.idle");
        Assert.Equal((35, 5.0), (awake.Done, awake.Rate1s));
        Assert.Equal("work", awake.Stages!.MaxBy(static stage => stage.Busy)!.Name);

        // Whoever goes on asking keeps it awake, and it falls asleep when nobody has asked for as long as its idle interval.
        for (int second = 0; second < 20; second++)
        {
            time.Advance(Second);
            _ = watch.Snapshot();
        }

        Assert.True(time.IsArmedFor(51.1 * Second));
        time.Advance(10 * Second);
        Assert.Equal((1, 71 * Second), (time.ArmedTimers, time.NextDue));
        LiveEntry asleep = Of(watch.Snapshot(), "watch.idle");
        Assert.Null(asleep.Stages);
        IReadOnlyList<LivePoint> points = watch.History(asleep.Id).Points;
        Assert.Equal([0, 10, 20, 30, 40, 50, 60], points.Select(point => (int)Math.Round((point.Time - points[0].Time).TotalSeconds)));
    }

    [Fact]
    public void APoint_KeepsWhatIsKnownAndWhatIsNot()
    {
        LivePoint point = new() { Time = default, State = LiveState.Running, Rate = 0, Waiting = 7 };
        Assert.Equal((0.0, null, null, 7, null), (point.Rate, point.Limit, point.InFlight, point.Waiting, point.Failed));
        Assert.Equal((null, 3, 7), ((point with { Rate = null, Limit = 3 }).Rate, (point with { Rate = null, Limit = 3 }).Limit, (point with { Limit = 3 }).Waiting));
        string json = System.Text.Encoding.UTF8.GetString(new LiveHistory { Id = "run-1", Points = [point] }.ToJson());
        Assert.EndsWith("\"state\":\"running\",\"rate\":0,\"waiting\":7}]}", json, StringComparison.Ordinal);
    }

    [Fact]
    public void Watch_OfManyThings_RemembersNoMoreThanItMay()
    {
        SharedConcurrencyLimit[] limits = [.. Enumerable.Range(0, 20).Select(static _ => new SharedConcurrencyLimit(1))];
        using LiveWatch watch = WeirDiagnostics.Watch(new LiveWatchOptions { TimeProvider = new ManualTimeProvider(), MaxEntries = 5, History = 60 * Second });
        Assert.Equal(5, watch.Latest.Entries.Count(entry => watch.History(entry.Id).Points.Count > 0));
        GC.KeepAlive(limits);
    }

    [Theory]
    [InlineData(nameof(LiveWatchOptions.Interval))]
    [InlineData(nameof(LiveWatchOptions.IdleInterval))]
    [InlineData(nameof(LiveWatchOptions.History))]
    [InlineData(nameof(LiveWatchOptions.HistoryStep))]
    [InlineData(nameof(LiveWatchOptions.MaxEntries))]
    public void Options_OutOfRange_AreRefusedByName(string name)
    {
        LiveWatchOptions options = name switch
        {
            nameof(LiveWatchOptions.Interval) => new() { Interval = TimeSpan.FromMilliseconds(99) },
            nameof(LiveWatchOptions.IdleInterval) => new() { IdleInterval = TimeSpan.FromMilliseconds(499) },
            nameof(LiveWatchOptions.History) => new() { History = TimeSpan.FromDays(2) },
            nameof(LiveWatchOptions.HistoryStep) => new() { HistoryStep = TimeSpan.FromMilliseconds(999) },
            _ => new() { MaxEntries = 0 },
        };
        Assert.Equal(name, Assert.Throws<ArgumentOutOfRangeException>(() => WeirDiagnostics.Watch(options)).ParamName);
    }

    private static LiveEntry Of(WeirSnapshot snapshot, string name) => snapshot.Entries.Single(entry => entry.Name == name);

    /// <summary>A run whose items end when the test says so.</summary>
    private sealed class Feed : IDisposable
    {
        private readonly SemaphoreSlim _go = new(0);
        private readonly CancellationTokenSource _stop = new();
        private readonly RunControl _control = new();
        private readonly Task _run;
        private readonly string _name;
        private long _passed;

        public Feed(TimeProvider time, string name, int total)
        {
            _name = name;
            _run = Enumerable.Range(0, total).ForEachParallelAsync(
                async (_, token) => await _go.WaitAsync(token),
                new ParallelRunOptions { OperationName = name, MaxDegreeOfParallelism = 1, TimeProvider = time, Control = _control },
                _stop.Token);
        }

        /// <summary>Lets some items end, and waits until they have.</summary>
        public async Task PassAsync(int count)
        {
            _passed += count;
            _go.Release(count);
            while (Of(WeirDiagnostics.Snapshot(), _name).Done < _passed)
            {
                await Task.Yield();
            }
        }

        public async Task EndAsync()
        {
            _control.Stop();
            _go.Release();
            await _run;
        }

        public void Dispose()
        {
            _stop.Cancel();
            _stop.Dispose();
        }
    }
}
