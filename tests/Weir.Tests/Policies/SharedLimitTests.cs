using Weir.Resilience;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Policies;

/// <summary>A concurrency limit that runs share: exact, fair, without a worker while an item waits, and without a place that is lost.</summary>
public sealed class SharedLimitTests : IDisposable
{
    private readonly ManualTimeProvider _time = new();
    private readonly SharedConcurrencyLimit _shared = new(1);
    private readonly Gate _gate = new();

    /// <summary>A run's calls are measured for the limit: what fails lowers it, and what the stop of the run cancels does not.</summary>
    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(false, 4)]
    [InlineData(true, 8)]
    public async Task Run_AtAnAdaptiveLimit_ItsFailuresLowerIt(bool isCancelled, int limit)
    {
        AdaptiveLimit adaptive = new(new AdaptiveLimitOptions
        {
            Adaptive = new() { InitialConcurrency = 8, MinSuccessRate = 1, SampleInterval = TimeSpan.FromMilliseconds(1) },
            TimeProvider = _time,
        });
        using CancellationTokenSource source = new();
        int begun = 0;
        Task<List<int>> run = new[] { 1, 2, 3 }.SelectParallelAsync<int, int>(
            async (_, token) =>
            {
                if (Interlocked.Increment(ref begun) == 3 && isCancelled)
                {
                    await source.CancelAsync();
                }

                try
                {
                    await Task.Delay(isCancelled ? Timeout.InfiniteTimeSpan : TimeSpan.Zero, _time, token);
                }
                catch (OperationCanceledException)
                {
                    // It ends below, a window later.
                }

                _time.Advance(TimeSpan.FromSeconds(1));
                token.ThrowIfCancellationRequested();
                throw new TestException("down");
            },
            new ParallelRunOptions { MaxDegreeOfParallelism = isCancelled ? 3 : 1, ConcurrencyLimit = adaptive, ErrorMode = ErrorMode.BestEffort },
            source.Token);
        if (isCancelled)
        {
            await Assert.ThrowsAnyAsync<OperationCanceledException>(() => run.WithinAsync());
        }
        else
        {
            Assert.Empty(await run.WithinAsync());
        }

        Assert.Equal((limit, 0, 0), (adaptive.Limit, adaptive.InUse, adaptive.Waiting));
    }

    public static PairwiseTheoryData<OperatorFamily, SourceKind, int> Grid { get; } = new(
        Enum.GetValues<OperatorFamily>(), [SourceKind.Array, SourceKind.Lazy, SourceKind.AsyncSuspending, SourceKind.Channel], [1, 3]);

    public static MatrixTheoryData<OperatorFamily, bool> Families { get; } = new(Enum.GetValues<OperatorFamily>(), [false, true]);

    public void Dispose() => _gate.Dispose();

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Grid))]
    public async Task Runs_OfEveryKind_NeverExceedTheLimitAndGiveEveryResult(OperatorFamily family, SourceKind source, int limit)
    {
        const int items = 60;
        SharedConcurrencyLimit shared = new(limit);
        ConcurrencyProbe probe = new();
        async ValueTask<int> CallAsync(int item, CancellationToken token)
        {
            using (probe.Enter())
            {
                switch (item % 4)
                {
                    case 0:
                        break;
                    case 1:
                        await Task.Yield();
                        break;
                    case 2:
                        Thread.SpinWait(500);
                        break;
                    default:
                        await Task.Yield();
                        throw new TestException("item");
                }

                return item;
            }
        }

        ParallelRunOptions options = new() { MaxDegreeOfParallelism = 4, ConcurrencyLimit = shared, ErrorMode = ErrorMode.BestEffort };
        Task<List<int>>[] runs = [.. Enumerable.Range(0, 3).Select(i => family.RunAsync(
            TestSource.Of(source, items),
            CallAsync,
            options with { MaxDegreeOfParallelism = 1 + (3 * i), PerItemTimeout = i == 2 ? TimeSpan.FromMinutes(5) : null }))];
        foreach (Task<List<int>> run in runs)
        {
            List<int> results = await run.WithinAsync("a run");
            Assert.Equal(Enumerable.Range(0, items).Where(static i => i % 4 != 3), results.Order());
        }

        Assert.InRange(probe.Most, 1, limit);
        Assert.Equal((0, 0), (shared.InUse, shared.Waiting));
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Item_WaitsForItsPlace_OtherItemsOfTheRunGoOn()
    {
        // The place is taken, and the run has one worker. It must come to the second item, which would not come if the first one held the worker.
        Assert.True(_shared.TryEnter());
        List<int> started = [];
        Task<List<int>> run = Enumerable.Range(0, 5).SelectParallelAsync(
            static (x, _) => new ValueTask<int>(x),
            new ParallelRunOptions
            {
                MaxDegreeOfParallelism = 1,
                ConcurrencyLimit = _shared,
                OnStartItemAsync = i =>
                {
                    started.Add(i);
                    return default;
                },
            });
        await Guard.UntilAsync(() => _shared.Waiting == 5, "all items in the queue");
        Assert.Equal(Enumerable.Range(0, 5), started);
        _shared.Leave();
        Assert.Equal(Enumerable.Range(0, 5), await run.WithinAsync());
        Assert.Equal(5, started.Count);
        Assert.Equal((0, 0), (_shared.InUse, _shared.Waiting));
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Run_ThatCannotUseMorePlaces_LetsAnotherOneHaveThem()
    {
        SharedConcurrencyLimit shared = new(3);
        ConcurrencyProbe first = new();
        ConcurrencyProbe second = new();
        Task<List<int>> Run(ConcurrencyProbe probe, int degree) => Enumerable.Range(0, 20).SelectParallelAsync(
            async (x, token) =>
            {
                using (probe.Enter())
                {
                    await _gate.WaitAsync(token);
                    return x;
                }
            },
            new ParallelRunOptions { MaxDegreeOfParallelism = degree, ConcurrencyLimit = shared });
        Assert.True(shared.TryEnter() && shared.TryEnter() && shared.TryEnter());
        Task<List<int>> one = Run(first, 1);
        await Guard.UntilAsync(() => shared.Waiting == 20, "the items of the first run");
        Task<List<int>> two = Run(second, 8);
        await Guard.UntilAsync(() => shared.Waiting == 40, "the items of the second run");
        shared.Leave();
        shared.Leave();
        shared.Leave();
        await first.InsideAsync(1);
        await second.InsideAsync(2);
        _gate.Open();
        await Task.WhenAll(one, two).WithinAsync("both runs");
        Assert.Equal(1, first.Most);
        Assert.Equal((0, 0), (shared.InUse, shared.Waiting));
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Items_OfOneRun_AreServedInOrder()
    {
        Assert.True(_shared.TryEnter());
        List<int> order = [];
        Task run = Enumerable.Range(0, 30).ForEachParallelAsync(
            (x, _) =>
            {
                order.Add(x);
                return default;
            },
            new ParallelRunOptions { MaxDegreeOfParallelism = 1, ConcurrencyLimit = _shared });
        await Guard.UntilAsync(() => _shared.Waiting == 30, "all items in the queue");
        _shared.Leave();
        await run.WithinAsync();
        Assert.Equal(Enumerable.Range(0, 30), order);
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task PerItemTimeout_DoesNotCountTheWait()
    {
        RunControl control = new();
        Assert.True(_shared.TryEnter());
        Task<List<int>> run = Enumerable.Range(0, 4).SelectParallelAsync(
            static (x, _) => new ValueTask<int>(x),
            new ParallelRunOptions
            {
                MaxDegreeOfParallelism = 2,
                ConcurrencyLimit = _shared,
                PerItemTimeout = TimeSpan.FromSeconds(1),
                TimeProvider = _time,
                Control = control,
            });

        // The time of an item that is in the queue, but has not left its worker yet, would still be counted.
        await Guard.UntilAsync(() => _shared.Waiting == 4 && control.Snapshot() is { Waiting: 4, InFlight: 0 }, "all items in the queue");
        _time.Advance(TimeSpan.FromHours(1));
        await Guard.SettleAsync();
        Assert.False(run.IsCompleted);
        _shared.Leave();
        Assert.Equal(Enumerable.Range(0, 4), await run.WithinAsync());
    }

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task PerItemTimeout_GivesUpACallThatIgnoresIt_ThePlaceIsReturned(bool blocks)
    {
        using Gate begun = new();
        using Gate ended = new();
        TimeSpan limit = TimeSpan.FromMinutes(1);
        Task<ItemOutcome<int, int>[]> run = new[] { 0, 1, 2 }.SelectParallelOutcomesAsync(
            async (x, _) =>
            {
                if (x == 0)
                {
                    begun.Open();
                    if (blocks)
                    {
                        _gate.Wait(CancellationToken.None);
                    }
                    else
                    {
                        await _gate.WaitAsync(CancellationToken.None);
                    }

                    ended.Open();
                }

                return x;
            },
            new ParallelRunOptions { MaxDegreeOfParallelism = 1, ConcurrencyLimit = _shared, PerItemTimeout = limit, TimeProvider = _time });
        await begun.WaitAsync();
        await _time.AdvanceUntilAsync(run, limit);
        ItemOutcome<int, int>[] outcomes = await run.WithinAsync("a run whose first call never ends");
        Assert.Equal([ItemStatus.TimedOut, ItemStatus.Succeeded, ItemStatus.Succeeded], outcomes.Select(static o => o.Status));
        Assert.Equal((0, 0), (_shared.InUse, _shared.Waiting));
        _gate.Open();
        await ended.WaitAsync();
        await Guard.SettleAsync();
        Assert.Equal((0, 0), (_shared.InUse, _shared.Waiting));
        Assert.True(_shared.TryEnter());
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Families))]
    public async Task Run_Cancelled_TakesItsItemsOutOfTheQueue(OperatorFamily family, bool timed)
    {
        Assert.True(_shared.TryEnter());
        using CancellationTokenSource cancelling = new();
        Task<List<int>> run = family.RunAsync(
            TestSource.Of(SourceKind.Lazy, 30),
            static (x, _) => new ValueTask<int>(x),
            new ParallelRunOptions { MaxDegreeOfParallelism = 2, ConcurrencyLimit = _shared, PerItemTimeout = timed ? TimeSpan.FromMinutes(5) : null },
            cancelling.Token);
        await Guard.UntilAsync(() => _shared.Waiting == 30, "all items in the queue");
        await cancelling.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => run.WithinAsync());
        Assert.Equal((1, 0), (_shared.InUse, _shared.Waiting));
        _shared.Leave();
        Assert.True(_shared.TryEnter());
        Assert.False(_shared.TryEnter());
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Run_CancelledWhileACallIgnoresIt_OthersUseThePlacesMeanwhile()
    {
        SharedConcurrencyLimit shared = new(2);
        using CancellationTokenSource cancelling = new();
        using Gate begun = new();
        Task<List<int>> run = Enumerable.Range(0, 10).SelectParallelAsync(
            async (x, _) =>
            {
                begun.Open();
                await _gate.WaitAsync(CancellationToken.None);
                return x;
            },
            new ParallelRunOptions { MaxDegreeOfParallelism = 1, ConcurrencyLimit = shared },
            cancelling.Token);

        // Not only its place: an item that has one when its run is cancelled makes no call any more, and returns it.
        await begun.WaitAsync();
        Assert.True(shared.TryEnter());
        Task other = shared.EnterAsync().AsTask();
        await cancelling.CancelAsync();
        shared.Leave();
        await other.WithinAsync("another call");
        Assert.Equal((2, 0), (shared.InUse, shared.Waiting));
        _gate.Open();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => run.WithinAsync());
        Assert.Equal((1, 0), (shared.InUse, shared.Waiting));
    }

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Stream_LeftEarly_ReturnsEveryPlace(bool ordered)
    {
        SharedConcurrencyLimit shared = new(2);
        await foreach (int result in TestSource.Endless(SourceKind.Lazy).Sequence!.SelectParallelStreamAsync(
            static async (x, token) =>
            {
                await Task.Yield();
                return x;
            },
            new ParallelRunOptions { MaxDegreeOfParallelism = 5, ConcurrencyLimit = shared, OrderedOutput = ordered, ChannelCapacity = 4 }))
        {
            if (result >= 50)
            {
                break;
            }
        }

        Assert.Equal((0, 0), (shared.InUse, shared.Waiting));
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Queue_Full_FailsTheItemOrRetriesIt()
    {
        SharedConcurrencyLimit shared = new(1, maxWaiting: 2);
        Assert.True(shared.TryEnter());
        ParallelRunOptions options = new() { MaxDegreeOfParallelism = 1, ConcurrencyLimit = shared, TimeProvider = _time };
        RunControl control = new();
        Task<ItemOutcome<int, int>[]> run = Enumerable.Range(0, 4).SelectParallelOutcomesAsync(
            static (x, _) => new ValueTask<int>(x), options with { Control = control });
        await Guard.UntilAsync(() => shared.Waiting == 2 && control.Snapshot().Failed == 2, "two items in the queue, and the end of the others");
        Task<List<int>> retried = new[] { 7 }.SelectParallelAsync(
            static (x, _) => new ValueTask<int>(x), options with
            {
                MaxRetries = 3, IsTransient = static e => e is ConcurrencyLimitRejectedException, BaseDelay = TimeSpan.FromSeconds(1),
            });
        await Guard.UntilAsync(() => _time.ArmedTimers > 0, "the delay of a rejected item");
        shared.Leave();
        ItemOutcome<int, int>[] outcomes = await run.WithinAsync();
        Assert.Equal([ItemStatus.Succeeded, ItemStatus.Succeeded, ItemStatus.Failed, ItemStatus.Failed], outcomes.Select(static o => o.Status));
        Assert.All(outcomes[2..], static o => Assert.IsType<ConcurrencyLimitRejectedException>(o.Error));
        _time.Advance(TimeSpan.FromSeconds(1));
        Assert.Equal([7], await retried.WithinAsync());
        Assert.Equal((0, 0), (shared.InUse, shared.Waiting));
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Queue_NoBoundGiven_TakesAllItemsOfARunAndAHundredSingleCallsBesides()
    {
        Assert.True(_shared.TryEnter());
        RunControl control = new();
        Task<List<int>> run = Enumerable.Range(0, 3_000).SelectParallelAsync(
            static (x, _) => new ValueTask<int>(x),
            new ParallelRunOptions { MaxDegreeOfParallelism = 100, ConcurrencyLimit = _shared, Control = control });
        await Guard.UntilAsync(() => _shared.Waiting >= 1_024, "a run that holds back its items");
        int ofRun = _shared.Waiting;
        Task[] single = [.. Enumerable.Range(0, 100).Select(_ => _shared.ExecuteAsync(static _ => default).AsTask())];

        // Each of its workers may have begun one more when that many waited.
        Assert.InRange(_shared.Waiting, ofRun + 100, 1_024 + 400 + 100 + 100);
        await Assert.ThrowsAsync<ConcurrencyLimitRejectedException>(() => _shared.EnterAsync().AsTask());
        _shared.Leave();
        Assert.Equal(Enumerable.Range(0, 3_000), await run.WithinAsync());
        await Task.WhenAll(single).WithinAsync();
        Assert.Equal((0, 0), (_shared.InUse, _shared.Waiting));
    }

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Item_GivenUpUnderALimitOfItsAttempt_GivesItsPlaceBackAfterItsCallWasCancelled(bool withAttemptTimeout)
    {
        for (int round = 0; round < 50; round++)
        {
            CancellationToken ofCall = default;
            bool begun = false;
            Task<ItemOutcome<int, int>[]> run = new[] { 7 }.SelectParallelOutcomesAsync(
                async (x, token) =>
                {
                    ofCall = token;
                    Volatile.Write(ref begun, true);
                    await _gate.WaitAsync();
                    return x;
                },
                new ParallelRunOptions
                {
                    ConcurrencyLimit = _shared,
                    AttemptTimeout = withAttemptTimeout ? TimeSpan.FromHours(1) : null,
                    PerItemTimeout = TimeSpan.FromSeconds(1),
                    TimeProvider = _time,
                });
            await Guard.UntilAsync(() => Volatile.Read(ref begun) && _shared.InUse == 1, "the call");

            // The limit passes on this thread, which then has the place.
            while (!_shared.TryEnter())
            {
                _time.Advance(TimeSpan.FromMilliseconds(100));
            }

            Assert.True(ofCall.IsCancellationRequested);
            _shared.Leave();
            Assert.Equal(ItemStatus.TimedOut, Assert.Single(await run.WithinAsync()).Status);
        }
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Circuit_OpensWhileItemsWaitForAPlace_TheyFailAndHoldNothing()
    {
        CircuitBreaker breaker = new(new CircuitBreakerOptions { FailureThreshold = 1, OpenTimeout = TimeSpan.FromSeconds(30), TimeProvider = _time });
        bool down = true;
        Task<ItemOutcome<int, int>[]> Run(OpenCircuitMode mode) => Enumerable.Range(0, 6).SelectParallelOutcomesAsync<int, int>(
            async (x, token) =>
            {
                await _gate.WaitAsync(token);
                return Volatile.Read(ref down) ? throw new TestException("down") : x;
            },
            new ParallelRunOptions
            {
                MaxDegreeOfParallelism = 2, ConcurrencyLimit = _shared, CircuitBreaker = breaker, OpenCircuitMode = mode, TimeProvider = _time,
            });
        Task<ItemOutcome<int, int>[]> run = Run(OpenCircuitMode.FailFast);
        await Guard.UntilAsync(() => _shared.Waiting == 5, "the others");
        _gate.Open();
        ItemOutcome<int, int>[] outcomes = await run.WithinAsync();
        Assert.Equal(1, outcomes.Count(static o => o.Error is TestException));
        Assert.Equal(5, outcomes.Count(static o => o.Error is CircuitBreakerOpenException));
        Assert.Equal((0, 0), (_shared.InUse, _shared.Waiting));

        Volatile.Write(ref down, false);
        Task<ItemOutcome<int, int>[]> patient = Run(OpenCircuitMode.WaitForHalfOpen);
        await Guard.UntilAsync(() => _time.ArmedTimers > 0, "items that wait for the circuit");
        Assert.Equal((0, 0), (_shared.InUse, _shared.Waiting));

        // On, as long as it takes: an item that was refused before the move and begins to wait after it waits for as long again.
        await _time.AdvanceUntilAsync(patient, TimeSpan.FromSeconds(30));
        Assert.All(await patient.WithinAsync("the run that waited for the circuit"), static o => Assert.True(o.IsSuccess));
        Assert.Equal((0, 0), (_shared.InUse, _shared.Waiting));
    }

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(1, false)]
    [InlineData(2, false)]
    [InlineData(2, true)]
    public async Task Lanes_WaitForAPlace_KeepTheirOrder(int limit, bool timed)
    {
        SharedConcurrencyLimit shared = new(limit);
        List<int>[] lanes = [[], [], []];
        await Enumerable.Range(0, 90).PartitionBy(static x => x % 3).ForEachParallelAsync(
            async (x, token) =>
            {
                await Task.Yield();
                lanes[x % 3].Add(x);
            },
            new ParallelRunOptions
            {
                MaxDegreeOfParallelism = 6,
                ConcurrencyLimit = shared,
                PerItemTimeout = timed ? TimeSpan.FromMinutes(5) : null,
            }).WithinAsync();
        Assert.All(lanes, static lane => Assert.Equal(lane.Order(), lane));
        Assert.Equal(90, lanes.Sum(static lane => lane.Count));
        Assert.Equal((0, 0), (shared.InUse, shared.Waiting));
    }
}
