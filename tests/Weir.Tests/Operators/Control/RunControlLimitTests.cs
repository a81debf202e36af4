using Weir.Resilience;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Operators.Control;

/// <summary>A limit that is moved from outside, and what a control has to do with everything else that a run has.</summary>
public sealed class RunControlLimitTests : IDisposable
{
    private readonly SemaphoreSlim _doors = new(0);
    private readonly ConcurrencyProbe _probe = new();
    private readonly RunControl _control = new();

    public static MatrixTheoryData<OperatorFamily, SourceKind> Grid { get; } =
        new(Cases.Families, [SourceKind.Array, SourceKind.Collection, SourceKind.Lazy, SourceKind.AsyncSuspending, SourceKind.Channel]);

    public void Dispose() => _doors.Dispose();

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Grid))]
    public async Task Limit_MovedUpAndDown_IsExact(OperatorFamily family, SourceKind kind)
    {
        ParallelRunOptions options = new() { MaxDegreeOfParallelism = 2, ChannelCapacity = 1, Control = _control };
        Task<List<int>> run = family.RunAsync(TestSource.Of(kind, 60), ThroughADoorAsync, options);
        await _probe.InsideAsync(2);
        _control.MaxDegreeOfParallelism = 9;
        await _probe.InsideAsync(9);
        await Guard.SettleAsync();
        Assert.Equal((9, 9), (_probe.Inside, _probe.Entered));

        _control.MaxDegreeOfParallelism = 3;
        _doors.Release(6);
        await _probe.InsideAsync(3);
        await Guard.SettleAsync();
        Assert.Equal((3, 9), (_probe.Inside, _probe.Entered));
        _doors.Release(2);
        await _probe.EnteredAsync(11);
        await Guard.SettleAsync();
        Assert.Equal((3, 11), (_probe.Inside, _probe.Entered));

        _control.MaxDegreeOfParallelism = null;
        _doors.Release(1);
        await _probe.InsideAsync(2);
        await Guard.SettleAsync();
        Assert.Equal((2, 11), (_probe.Inside, _probe.Entered));
        _doors.Release(1_000);
        Assert.Equal(Enumerable.Range(0, 60), (await run.WithinAsync()).Order());
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Limit_RaisedFromOne_StartsBlockingItemsToo()
    {
        ParallelRunOptions options = new() { MaxDegreeOfParallelism = 1, Control = _control };
        Task run = Enumerable.Range(0, 20).ForEachParallelAsync(
            (_, _) =>
            {
                using (_probe.Enter())
                {
                    _doors.Wait(TimeSpan.FromMinutes(1), CancellationToken.None);
                    return default;
                }
            },
            options);
        await _probe.InsideAsync(1);
        _control.MaxDegreeOfParallelism = 4;
        await _probe.InsideAsync(4);
        _doors.Release(100);
        await run.WithinAsync();
        Assert.Equal(4, _probe.Most);
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Limit_RaisedToAHugeNumber_MakesNoWorkerForEachPlace()
    {
        using Gate gate = new();
        Task run = new int[2_000_000].ForEachParallelAsync(
            (_, _) =>
            {
                gate.Wait(CancellationToken.None);
                return default;
            },
            new ParallelRunOptions { MaxDegreeOfParallelism = 1, Control = _control });
        await Guard.UntilAsync(() => _control.Snapshot() is { InFlight: 1 }, "the first item");
        long before = GC.GetAllocatedBytesForCurrentThread();
        _control.MaxDegreeOfParallelism = 1_000_000;
        long allocated = GC.GetAllocatedBytesForCurrentThread() - before;
        gate.Open();
        await run.WithinAsync();
        Assert.InRange(allocated, 0, 10_000_000);
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Limit_WithAdaptiveConcurrency_IsACeiling()
    {
        _control.MaxDegreeOfParallelism = 2;
        ParallelRunOptions options = new()
        {
            AdaptiveConcurrency = new AdaptiveConcurrencyOptions { MinConcurrency = 1, MaxConcurrency = 5, InitialConcurrency = 5 },
            Control = _control,
        };
        Task<List<int>> run = OperatorFamily.List.RunAsync(TestSource.Of(SourceKind.Array, 30), ThroughADoorAsync, options);
        await _probe.InsideAsync(2);
        await Guard.SettleAsync();
        Assert.Equal(2, _probe.Entered);
        _control.MaxDegreeOfParallelism = 50;
        await _probe.InsideAsync(5);
        await Guard.SettleAsync();
        Assert.Equal(5, _probe.Entered);
        _doors.Release(1_000);
        await run.WithinAsync();
    }

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(0)]
    [InlineData(-1)]
    public void Limit_OutOfRange_IsRefusedAtOnce(int limit)
    {
        ArgumentOutOfRangeException e = Assert.Throws<ArgumentOutOfRangeException>(() => _control.MaxDegreeOfParallelism = limit);
        Assert.StartsWith("MaxDegreeOfParallelism must be at least 1, or null for the run's own limit.", e.Message, StringComparison.Ordinal);
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task OneControl_OfTwoRunsAndAThirdLater_HoldsForAllAndCountsAll()
    {
        _control.MaxDegreeOfParallelism = 2;
        ParallelRunOptions options = new() { MaxDegreeOfParallelism = 1, Control = _control };
        Task<List<int>>[] runs =
        [
            OperatorFamily.List.RunAsync(TestSource.Of(SourceKind.Array, 10), ThroughADoorAsync, options),
            OperatorFamily.Stream.RunAsync(TestSource.Of(SourceKind.Channel, 10), ThroughADoorAsync, options),
        ];
        await _probe.InsideAsync(4);
        _control.Pause();
        _doors.Release(4);
        await _probe.InsideAsync(0);
        Task<List<int>> third = OperatorFamily.ForEach.RunAsync(TestSource.Of(SourceKind.Lazy, 5), ThroughADoorAsync, options);
        await Guard.UntilAsync(() => _control.Snapshot() is { RunningRuns: 3, Started: 4, Succeeded: 4, InFlight: 0 }, "the counts of all three");
        Assert.Equal(4, _probe.Entered);
        _doors.Release(1_000);
        _control.Resume();
        await Task.WhenAll([.. runs, third]).WithinAsync();
        RunControlSnapshot end = _control.Snapshot();
        Assert.Equal((0, 25L, 25L, (int?)2), (end.RunningRuns, end.Started, end.Succeeded, end.MaxDegreeOfParallelism));
    }

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(OperatorFamily.Stream)]
    [InlineData(OperatorFamily.OrderedStream)]
    [InlineData(OperatorFamily.BatchStream)]
    public async Task Stream_LeftWhileItIsPaused_Ends(OperatorFamily family)
    {
        TestSource source = TestSource.Endless(SourceKind.AsyncSuspending);
        ParallelRunOptions options = new() { MaxDegreeOfParallelism = 3, Control = _control };
        await using (IAsyncEnumerator<int> stream = family.Open(source, Selectors.Twice, options).GetAsyncEnumerator(TestContext.Current.CancellationToken))
        {
            Assert.True(await stream.MoveNextAsync());
            _control.Pause();
            await Guard.UntilAsync(() => _control.Snapshot().InFlight == 0, "the end of what runs");
        }

        source.AssertUsedWell();
        Assert.Equal(0, _control.Snapshot().RunningRuns);
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Item_WhoseTimePassesWhileTheRunIsPaused_TimesOut()
    {
        ManualTimeProvider time = new();
        Task<ItemOutcome<int, int>[]> run = TestSource.Of(SourceKind.Array, 3).OutcomesAsync(
            ThroughADoorAsync,
            new ParallelRunOptions { MaxDegreeOfParallelism = 1, PerItemTimeout = TimeSpan.FromSeconds(1), TimeProvider = time, Control = _control });
        await _probe.InsideAsync(1);
        _control.Pause();
        Task timedOut = Guard.UntilAsync(() => _control.Snapshot().Failed == 1, "the time limit");
        await time.AdvanceUntilAsync(timedOut, TimeSpan.FromSeconds(1));
        await Guard.SettleAsync();
        Assert.Equal(1, _control.Snapshot().Started);
        _doors.Release(10);
        _control.Resume();
        Assert.Equal([ItemStatus.TimedOut, ItemStatus.Succeeded, ItemStatus.Succeeded], (await run.WithinAsync()).Select(static o => o.Status));
    }

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Item_ThatWaitsForAnotherAttempt_GetsItWhileTheRunIsPausedOrStops(bool stops)
    {
        ManualTimeProvider time = new();
        int calls = 0;
        Task<ItemOutcome<int, int>[]> run = TestSource.Of(SourceKind.Lazy, 3).OutcomesAsync(
            (x, _) => Interlocked.Increment(ref calls) == 1 ? throw new TimeoutException() : new ValueTask<int>(x),
            new ParallelRunOptions
            {
                MaxDegreeOfParallelism = 1,
                MaxRetries = 1,
                BaseDelay = TimeSpan.FromSeconds(1),
                TimeProvider = time,
                Control = _control,
                OnRetryAsync = (_, _, _) =>
                {
                    _control.Pause();
                    return default;
                },
            });
        await Guard.UntilAsync(() => _control.Snapshot() is { Waiting: 1, Started: 1, InFlight: 0 }, "the wait");
        if (stops)
        {
            _control.Stop();
            await Guard.SettleAsync();
            Assert.False(run.IsCompleted);
        }

        await time.AdvanceUntilAsync(Guard.UntilAsync(() => Volatile.Read(ref calls) == 2, "the next attempt"), TimeSpan.FromSeconds(1));
        if (!stops)
        {
            await Guard.UntilAsync(() => _control.Snapshot() is { Succeeded: 1, Waiting: 0 }, "its end");
            await Guard.SettleAsync();
            Assert.Equal(2, calls);
            _control.Resume();
        }

        // How many were read and did not begin depends on who saw the pause first.
        ItemStatus[] statuses = [.. (await run.WithinAsync()).Select(static o => o.Status)];
        Assert.Equal(stops ? 1 : 3, statuses.Count(static s => s == ItemStatus.Succeeded));
        Assert.All(statuses.Skip(stops ? 1 : 3), static s => Assert.Equal(ItemStatus.NotRun, s));
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Items_ThatWaitForAPlaceOfASharedLimit_UseItWhileTheRunIsPaused()
    {
        SharedConcurrencyLimit shared = new(1);
        Assert.True(shared.TryEnter());
        Task<List<int>> run = Enumerable.Range(0, 5).SelectParallelAsync(
            static (x, _) => new ValueTask<int>(x),
            new ParallelRunOptions { MaxDegreeOfParallelism = 2, ConcurrencyLimit = shared, Control = _control });
        await Guard.UntilAsync(() => shared.Waiting == 5, "all items in the queue");
        _control.Pause();
        shared.Leave();
        Assert.Equal(Enumerable.Range(0, 5), await run.WithinAsync());
        Assert.Equal((0, 0), (shared.InUse, shared.Waiting));
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Keys_InARunThatIsStopped_LeaveWhatWaitsForItsLane()
    {
        Task<ItemOutcome<int, int>[]> run = Enumerable.Range(0, 12).ToArray().PartitionBy(static x => x % 2).SelectParallelOutcomesAsync(
            ThroughADoorAsync, new ParallelRunOptions { MaxDegreeOfParallelism = 8, Control = _control });
        await _probe.InsideAsync(2);
        _control.Stop();
        _doors.Release(20);
        ItemOutcome<int, int>[] outcomes = await run.WithinAsync();
        Assert.Equal(12, outcomes.Length);
        Assert.Equal([0, 1], outcomes.Where(static o => o.IsSuccess).Select(static o => o.Value));
        Assert.All(outcomes.Skip(2), static o => Assert.Equal(ItemStatus.NotRun, o.Status));
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Batches_OfARunThatIsPausedAndResumed_KeepTheirItems()
    {
        using Gate source = new();
        Task<List<int>> run = OperatorRunner.GatherAsync(TestSource.Of(SourceKind.AsyncSuspending, new SourcePlan { Count = 10, WaitsAt = 5, Gate = source })
            .BatchStream(4, static (batch, _) => new ValueTask<int>(batch.Sum()), new ParallelRunOptions { Control = _control, OrderedOutput = true }));
        await Guard.UntilAsync(() => _control.Snapshot().Succeeded == 1, "the first batch");
        _control.Pause();
        source.Open();
        await Guard.SettleAsync();
        Assert.Equal(1, _control.Snapshot().Started);
        _control.Resume();
        Assert.Equal([0 + 1 + 2 + 3, 4 + 5 + 6 + 7, 8 + 9], await run.WithinAsync());
    }

    private async ValueTask<int> ThroughADoorAsync(int item, CancellationToken token)
    {
        using (_probe.Enter())
        {
            await _doors.WaitAsync(TimeSpan.FromMinutes(1), token);
            return item;
        }
    }
}
