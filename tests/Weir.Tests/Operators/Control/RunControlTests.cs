using System.Collections.Concurrent;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Operators.Control;

/// <summary>A run that is paused, resumed, limited and softly stopped while it goes on, over all operators and kinds of source.</summary>
public sealed class RunControlTests : IDisposable
{
    private const int Items = 40;
    private readonly Gate _gate = new();
    private readonly RunControl _control = new();

    public enum Work
    {
        /// <summary>Ends at once.</summary>
        Immediate,

        /// <summary>Waits for the gate without its thread.</summary>
        Suspending,

        /// <summary>Waits for the gate with its thread.</summary>
        Blocking,
    }

    public static MatrixTheoryData<OperatorFamily, SourceKind, int> Grid { get; } = new(Cases.Families, Cases.Kinds, [1, 2, 16]);

    public static MatrixTheoryData<OperatorFamily, SourceKind, Work> WorkGrid { get; } =
        new(Cases.Families, Cases.Kinds, [Work.Immediate, Work.Suspending]);

    public static MatrixTheoryData<OperatorFamily, SourceKind> Few { get; } = new(Cases.Families, Cases.Few);

    public void Dispose() => _gate.Dispose();

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Grid))]
    public async Task Run_PausedAtItsBeginning_ReadsNothingUntilItResumes(OperatorFamily family, SourceKind kind, int limit)
    {
        _control.Pause();
        int called = 0;
        TestSource source = TestSource.Of(kind, Items);
        Task<List<int>> run = family.RunAsync(
            source,
            (x, token) =>
            {
                Interlocked.Increment(ref called);
                return Selectors.Twice(x, token);
            },
            new ParallelRunOptions { MaxDegreeOfParallelism = limit, Control = _control });
        await Guard.SettleAsync();
        Assert.Equal(0, called);
        RunControlSnapshot paused = _control.Snapshot();
        Assert.Equal((true, 1, 0L), (paused.IsPaused, paused.RunningRuns, paused.Started));
        _control.Resume();
        Assert.Equal(Enumerable.Range(0, Items).Select(static x => x * 2), (await run.WithinAsync()).Order());
        AssertEnded(Items);
        source.AssertUsedWell();
    }

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(WorkGrid))]
    public async Task Run_PausedInTheMiddle_BeginsNothingUntilItResumes(OperatorFamily family, SourceKind kind, Work work)
    {
        using Journal journal = new(this, work, pausesAt: 7);
        Task<List<int>> run = family.RunAsync(
            TestSource.Of(kind, Items), journal.CallAsync, new ParallelRunOptions { MaxDegreeOfParallelism = 8, Control = _control });
        await Guard.UntilAsync(() => _control.IsPaused, "the pause");
        _gate.Open();
        await Guard.UntilAsync(() => _control.Snapshot().InFlight == 0, "the end of what runs");
        long begun = _control.Snapshot().Started;
        Assert.Equal(begun, journal.Called);
        await Guard.SettleAsync();
        Assert.Equal((begun, begun), (_control.Snapshot().Started, journal.Called));
        _control.Resume();
        Assert.Equal(Enumerable.Range(0, Items), (await run.WithinAsync()).Order());
        Assert.Equal(Items, journal.Called);
        AssertEnded(Items);
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Few))]
    public async Task Run_PausedWhileItsItemsBlock_BeginsNothingUntilItResumes(OperatorFamily family, SourceKind kind)
    {
        using Journal journal = new(this, Work.Blocking, pausesAt: 1);
        Task<List<int>> run = family.RunAsync(
            TestSource.Of(kind, 6), journal.CallAsync, new ParallelRunOptions { MaxDegreeOfParallelism = 2, Control = _control });
        await Guard.UntilAsync(() => _control.IsPaused, "the pause");
        _gate.Open();
        await Guard.UntilAsync(() => _control.Snapshot().InFlight == 0, "the end of what runs");
        await Guard.SettleAsync();
        Assert.InRange(journal.Called, 2, 2);
        _control.Resume();
        Assert.Equal(Enumerable.Range(0, 6), (await run.WithinAsync()).Order());
    }

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(WorkGrid))]
    public async Task Run_StoppedInTheMiddle_GivesWhatHasBegun(OperatorFamily family, SourceKind kind, Work work)
    {
        using Journal journal = new(this, work, stopsAt: 7);
        Task<List<int>> run = family.RunAsync(
            TestSource.Of(kind, 10_000), journal.CallAsync, new ParallelRunOptions { MaxDegreeOfParallelism = 8, Control = _control });
        await Guard.UntilAsync(() => _control.IsStopped, "the stop");
        _gate.Open();
        List<int> results = await run.WithinAsync();
        Assert.Equal(journal.Items, results.Order());
        Assert.InRange(results.Count, 8, 9_999);
        Assert.Equal(0, journal.Cancelled);
        AssertEnded(results.Count);
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Few))]
    public async Task Run_StoppedWhileItIsPaused_EndsWithWhatWasDone(OperatorFamily family, SourceKind kind)
    {
        using Journal journal = new(this, Work.Immediate, pausesAt: 5);
        Task<List<int>> run = family.RunAsync(
            TestSource.Of(kind, Items), journal.CallAsync, new ParallelRunOptions { MaxDegreeOfParallelism = 4, Control = _control });
        await Guard.UntilAsync(() => _control.IsPaused && _control.Snapshot().InFlight == 0, "the pause");
        await Guard.SettleAsync();
        Assert.False(run.IsCompleted);
        _control.Stop();
        Assert.Equal(journal.Items, (await run.WithinAsync()).Order());
        Assert.Equal((false, true), (_control.IsPaused, _control.IsStopped));
        AssertEnded(journal.Called);
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Few))]
    public async Task Run_WithAStoppedControl_EndsAtOnceWithNothing(OperatorFamily family, SourceKind kind)
    {
        _control.Stop();
        _control.Pause();
        Assert.False(_control.IsPaused);
        TestSource source = TestSource.Endless(kind == SourceKind.Array ? SourceKind.AsyncSuspending : kind);
        Assert.Empty(await family.RunAsync(source, Selectors.Twice, new ParallelRunOptions { Control = _control }).WithinAsync());
        Assert.Equal(0, source.Record.Reads);
        AssertEnded(0);
    }

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(SourceKind.AsyncImmediate, false)]
    [InlineData(SourceKind.AsyncSuspending, false)]
    [InlineData(SourceKind.Channel, false)]
    [InlineData(SourceKind.AsyncImmediate, true)]
    [InlineData(SourceKind.Channel, true)]
    public async Task Stop_WhileTheSourceWaits_CancelsTheTokenOfTheSourceAlone(SourceKind kind, bool paused)
    {
        foreach (OperatorFamily family in Cases.Families)
        {
            RunControl control = new();
            using Gate never = new();
            using Gate item = new();
            int cancelled = 0;
            Task<List<int>> run = family.RunAsync(
                TestSource.Of(kind, new SourcePlan { WaitsAt = 3, Gate = never }),
                async (x, token) =>
                {
                    await item.WaitAsync(CancellationToken.None);
                    Interlocked.Add(ref cancelled, token.IsCancellationRequested ? 1 : 0);
                    return x;
                },
                new ParallelRunOptions { MaxDegreeOfParallelism = 8, Control = control });
            await Guard.UntilAsync(() => control.Snapshot().Started == 3, "the items before the silence");
            if (paused)
            {
                control.Pause();
            }

            control.Stop();
            await Guard.SettleAsync();
            Assert.False(run.IsCompleted);
            item.Open();
            Assert.Equal([0, 1, 2], (await run.WithinAsync()).Order());
            Assert.Equal(0, cancelled);
        }
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Stop_WhileTheSourceIgnoresItsToken_WaitsForItsStepAndDropsTheItem()
    {
        using Gate late = new();
        TestSource source = TestSource.Of(SourceKind.AsyncImmediate, new SourcePlan { WaitsAt = 2, Gate = late, IgnoresToken = true, Count = 9 });
        Task<ItemOutcome<int, int>[]> run = source.OutcomesAsync(Selectors.Twice, new ParallelRunOptions { Control = _control });
        await Guard.UntilAsync(() => source.Record.Reads == 3 && _control.Snapshot() is { Started: 2, InFlight: 0 }, "the step that waits");
        _control.Stop();
        await Guard.SettleAsync();
        Assert.False(run.IsCompleted);
        late.Open();
        Assert.Equal([ItemStatus.Succeeded, ItemStatus.Succeeded, ItemStatus.NotRun], (await run.WithinAsync()).Select(static o => o.Status));
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Few))]
    public async Task Cancellation_WhileTheRunIsPaused_EndsIt(OperatorFamily family, SourceKind kind)
    {
        using CancellationTokenSource cancel = new();
        using Journal journal = new(this, Work.Immediate, pausesAt: 5);
        Task<List<int>> run = family.RunAsync(
            TestSource.Of(kind, Items), journal.CallAsync, new ParallelRunOptions { MaxDegreeOfParallelism = 4, Control = _control }, cancel.Token);
        await Guard.UntilAsync(() => _control.IsPaused && _control.Snapshot().InFlight == 0, "the pause");
        await cancel.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => run.WithinAsync());
        Assert.Equal(0, _control.Snapshot().RunningRuns);
    }

    private void AssertEnded(long begun)
    {
        RunControlSnapshot end = _control.Snapshot();
        Assert.Equal((0, begun, begun, 0L, 0L), (end.RunningRuns, end.Started, end.Succeeded, end.InFlight, end.Waiting));
    }

    /// <summary>Items that pause or stop their own run, once a given number of them has been called, and then wait.</summary>
    private sealed class Journal(RunControlTests test, Work work, int pausesAt = -1, int stopsAt = -1) : IDisposable
    {
        private readonly ConcurrentQueue<int> _items = [];
        private readonly TaskCompletionSource _ordered = new(TaskCreationOptions.RunContinuationsAsynchronously);
        private int _called;
        private int _cancelled;

        public int Called => Volatile.Read(ref _called);

        public int Cancelled => Volatile.Read(ref _cancelled);

        public IEnumerable<int> Items => _items.Order();

        public async ValueTask<int> CallAsync(int item, CancellationToken token)
        {
            _items.Enqueue(item);
            int call = Interlocked.Increment(ref _called) - 1;
            if (call == pausesAt)
            {
                test._control.Pause();
            }

            if (call == stopsAt)
            {
                test._control.Stop();
            }

            int orderedAt = Math.Max(pausesAt, stopsAt);
            if (call == orderedAt)
            {
                _ordered.SetResult();
            }
            else if (call > orderedAt)
            {
                // The run must not end while the item that gives the order is held up before it.
                await _ordered.Task;
            }

            if (work == Work.Suspending)
            {
                // With one less than the limit, the run goes on to the item that gives the order.
                await test._gate.WaitAsync(CancellationToken.None);
            }
            else if (work == Work.Blocking)
            {
                test._gate.Wait(CancellationToken.None);
            }

            Interlocked.Add(ref _cancelled, token.IsCancellationRequested ? 1 : 0);
            return item;
        }

        public void Dispose() => _items.Clear();
    }
}
