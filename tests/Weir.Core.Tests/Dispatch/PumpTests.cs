using System.Diagnostics;
using Weir.Core.Dispatch;
using Weir.Core.Metering;
using Weir.Core.Sources;

namespace Weir.Core.Tests.Dispatch;

/// <summary>The pump under interleavings that the test chooses: nothing here runs but what the test runs.</summary>
public class PumpTests
{
    [Theory(Timeout = 90_000)]
    [InlineData(19.9, 2, 0)]
    [InlineData(20.1, 2, 1)]
    [InlineData(20.1, 1, 0)]
    public async Task ConsiderHelp_SynchronousItems_CallsNobodyForLessThanAWakeUpIsWorth(double microsecondsAtWork, double microsecondsPerItem, int helpers)
    {
        // Too little done yet; enough; and too little left of the twenty items.
        ManualExecutor executor = new();
        TaskCompletionSource<int>[] items = Pending(20);
        TestRun<int, int> run = null!;
        run = Run(20, (x, _) =>
        {
            if (x == 0)
            {
                run.Pump.ConsiderHelp(Ticks(100), Ticks(100 + microsecondsAtWork), Ticks(microsecondsPerItem));
                Assert.Equal(helpers, executor.Queued);
            }

            return new ValueTask<int>(items[x].Task);
        }, 8, executor);
        executor.RunAll();
        await EndAsync(run, items, 0, executor);
    }

    [Fact(Timeout = 90_000)]
    public async Task Turn_GivenUpJustBeforeAWorkerLeavesForIt_IsTakenByThatWorker()
    {
        ManualExecutor executor = new();
        TestRun<int, int> run = new(new BusyEachTime(5), static (x, _) => new ValueTask<int>(x), Settings(1, executor));
        ManualExecutor.Start(run.Pump);
        executor.RunAll();
        Assert.True(run.Task.IsCompleted, "Its only worker has left, and nobody calls it.");
        Assert.Equal(Enumerable.Range(0, 5), await run.Task);
    }

    [Fact(Timeout = 90_000)]
    public async Task Suspension_WithItemsLeft_LetsTheSameThreadStartTheNextWorker()
    {
        ManualExecutor executor = new();
        TaskCompletionSource<int>[] items = Pending(10);
        TestRun<int, int> run = Run(10, (x, _) => new ValueTask<int>(items[x].Task), 4, executor);
        executor.RunOne();
        Assert.Equal(4, run.Pump.Sample().InFlight);
        Assert.Equal(4, run.Source.NextIndex - Stashed(run.Source));

        for (int i = 0; i < 10; i++)
        {
            Assert.False(run.Task.IsCompleted);
            items[i].SetResult(i);
            executor.RunAll();
        }

        Assert.Equal(Enumerable.Range(0, 10), await run.Task);
    }

    [Fact(Timeout = 90_000)]
    public void Limit_OfAThousandForThreeItems_MakesThreeWorkers()
    {
        ManualExecutor executor = new();
        TaskCompletionSource<int>[] items = Pending(3);
        TestRun<int, int> run = Run(3, (x, _) => new ValueTask<int>(items[x].Task), 1000, executor);
        executor.RunOne();
        Assert.Equal(3, run.Pump.Sample().InFlight);
        Assert.Equal(0, executor.Queued);
    }

    [Fact(Timeout = 90_000)]
    public async Task Finish_WithAWorkerStillQueued_DoesNotWaitForIt()
    {
        ManualExecutor executor = new();
        TestRun<int, int> run = null!;
        run = Run(2, (x, _) =>
        {
            if (x == 0)
            {
                Assert.True(run.Pump.AddQueued());
            }

            return new ValueTask<int>(x);
        }, 2, executor);
        executor.RunOne();
        Assert.Equal(1, executor.Queued);
        Assert.Equal([0, 1], await run.Task);

        // The late worker finds the run finished, and touches nothing.
        executor.RunOne();
        Assert.Equal([0, 1], await run.Task);
    }

    [Fact(Timeout = 90_000)]
    public async Task Stop_BeforeTheFirstWorkerHasAThread_EndsTheRunAtOnce()
    {
        ManualExecutor executor = new();
        using CancellationTokenSource cancel = new();
        TestRun<int, int> run = Run(5, static (x, _) => new ValueTask<int>(x), 2, executor, cancel.Token);
        await cancel.CancelAsync();
        OperationCanceledException error = await Assert.ThrowsAnyAsync<OperationCanceledException>(() => run.Task);
        Assert.Equal(cancel.Token, error.CancellationToken);
        executor.RunAll();
    }

    [Theory(Timeout = 90_000)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Stop_InsideAnItem_BeginsNoOtherOfThoseThatItsWorkerHasClaimed(bool isGuarded)
    {
        // So many quick items before it that a worker claims many at once.
        ManualExecutor executor = new();
        bool isOver = false;
        int late = 0;
        TestRun<int, int> run = null!;
        run = new(
            SourceOf.Enumerable(Enumerable.Range(0, 2_000).ToArray()),
            (x, _) =>
            {
                late += isOver ? 1 : 0;
                if (x == 1_500)
                {
                    isOver = run.Pump.Stop(new CancellationToken(canceled: true));
                }

                return new ValueTask<int>(x);
            },
            Settings(1, executor) with { Guarded = isGuarded });
        ManualExecutor.Start(run.Pump);
        executor.RunAll();

        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => run.Task);
        Assert.True(isOver);
        Assert.Equal(0, late);
    }

    [Fact(Timeout = 90_000)]
    public async Task SetLimit_Lower_TakesEffectAsItemsEnd()
    {
        ManualExecutor executor = new();
        TaskCompletionSource<int>[] items = Pending(20);
        TestRun<int, int> run = Run(20, (x, _) => new ValueTask<int>(items[x].Task), 8, executor);
        executor.RunOne();
        Assert.Equal(8, run.Pump.Sample().InFlight);
        run.Pump.SetLimit(2);
        for (int i = 0; i < 6; i++)
        {
            items[i].SetResult(i);
            executor.RunAll();
        }

        Assert.Equal(2, run.Pump.Sample().InFlight);
        items[6].SetResult(6);
        executor.RunAll();
        Assert.Equal(2, run.Pump.Sample().InFlight);
        await EndAsync(run, items, 7, executor);
    }

    [Fact(Timeout = 90_000)]
    public async Task SetLimit_Higher_StartsMoreAtOnce()
    {
        ManualExecutor executor = new();
        TaskCompletionSource<int>[] items = Pending(20);
        TestRun<int, int> run = Run(20, (x, _) => new ValueTask<int>(items[x].Task), 2, executor);
        executor.RunOne();
        Assert.Equal(2, run.Pump.Sample().InFlight);
        run.Pump.SetLimit(5);
        executor.RunAll();
        Assert.Equal(5, run.Pump.Sample().InFlight);
        await EndAsync(run, items, 0, executor);
    }

    [Fact(Timeout = 90_000)]
    public async Task LazySource_WorkerThatFindsItBusy_LeavesAndIsCalledAgain()
    {
        ManualExecutor executor = new();
        TaskCompletionSource<int>[] items = Pending(6);
        Source<int> source = new LazySource<int>(Enumerable.Range(0, 6));
        TestRun<int, int> run = new(source, (x, _) => new ValueTask<int>(items[x].Task), Settings(3, executor));
        run.Start();
        executor.RunOne();

        // Were this thread held up meanwhile, the stall watch would have queued the third worker.
        executor.RunAll();
        Assert.Equal(3, run.Pump.Sample().InFlight);
        await EndAsync(run, items, 0, executor);
    }

    [Fact(Timeout = 90_000)]
    public async Task Failure_OfOneOfMany_StopsTheOthersAndIsThrown()
    {
        ManualExecutor executor = new();
        int started = 0;
        TestRun<int, int> run = Run(10, async (x, token) =>
        {
            started++;
            if (x == 2)
            {
                await Task.Yield();
                throw new FormatException("two");
            }

            await Task.Delay(Timeout.InfiniteTimeSpan, TimeProvider.System, token);
            return x;
        }, 4, executor);
        executor.RunOne();
        FormatException error = await Assert.ThrowsAsync<FormatException>(() => run.Task.WithinAsync());
        Assert.Equal("two", error.Message);

        // The failure may come before the fourth has started.
        Assert.InRange(started, 3, 4);
    }

    [Fact(Timeout = 90_000)]
    public async Task Sample_AtTheEnd_CountsEveryItemOnce()
    {
        ManualExecutor executor = new();
        TestRun<int, int> run = Run(
            50, static (x, _) => x % 5 == 0 ? throw new FormatException() : new ValueTask<int>(x), 2, executor, default, ErrorMode.BestEffort);
        executor.RunAll();
        Assert.Equal(40, (await run.Task).Count);
        RunSample sample = run.Pump.Sample();
        Assert.Equal((40, 10, 0), (sample.Succeeded, sample.Unsuccessful, sample.InFlight));
    }

    [Fact(Timeout = 90_000)]
    public async Task StallWatch_AllWorkersInsideBlockingCalls_StartsMoreUpToTheLimit()
    {
        using Gate all = new();
        int inside = 0;
        Func<int, CancellationToken, ValueTask<int>> blocking = (x, _) =>
        {
            if (Interlocked.Increment(ref inside) == 6)
            {
                all.Open();
            }

            all.Wait(CancellationToken.None);
            return new ValueTask<int>(x);
        };
        TestRun<int, int> run = new(
            SourceOf.Enumerable(Enumerable.Range(0, 6).ToArray()), blocking, new PumpSettings { Limit = 6, ErrorMode = ErrorMode.FailFast });
        Assert.Equal(6, (await run.Start().Task).Count);
    }

    private static long Ticks(double microseconds) => (long)(microseconds * Stopwatch.Frequency / 1e6);

    private static TestRun<int, int> Run(
        int count,
        Func<int, CancellationToken, ValueTask<int>> selector,
        int limit,
        ManualExecutor executor,
        CancellationToken cancellationToken = default,
        ErrorMode mode = ErrorMode.FailFast) =>
        new TestRun<int, int>(
            SourceOf.Enumerable(Enumerable.Range(0, count).ToArray()), selector, Settings(limit, executor) with { ErrorMode = mode })
            .Start(cancellationToken);

    private static PumpSettings Settings(int limit, ManualExecutor executor) =>
        new() { Limit = limit, ErrorMode = ErrorMode.FailFast, Executor = executor };

    private static TaskCompletionSource<int>[] Pending(int count) =>
        Enumerable.Range(0, count).Select(static _ => new TaskCompletionSource<int>()).ToArray();

    private static long Stashed(Source<int> source) => source.LeftOver().Sum(static range => range.Count);

    private static async Task EndAsync(TestRun<int, int> run, TaskCompletionSource<int>[] items, int from, ManualExecutor executor)
    {
        for (int i = from; i < items.Length; i++)
        {
            items[i].SetResult(i);
            executor.RunAll();
        }

        Assert.Equal(Enumerable.Range(0, items.Length), await run.Task);
    }

    /// <summary>A source whose turn somebody has whenever a worker asks for it, and nobody has when that worker looks again.</summary>
    private sealed class BusyEachTime(int count) : Source<int>
    {
        private int _next;
        private bool _wasBusy;

        public override int KnownCount => -1;

        public override long NextIndex => _next;

        public override bool TakesTurns => true;

        protected override bool IsDrained => _next >= count;

        protected override ClaimResult TryClaimNext(ref Chunk<int> chunk, int max, long ceiling)
        {
            _wasBusy = !_wasBusy;
            if (_wasBusy)
            {
                return ClaimResult.Busy;
            }

            if (_next >= count)
            {
                return ClaimResult.Empty;
            }

            chunk.SetSingle(_next, _next);
            _next++;
            return ClaimResult.Claimed;
        }
    }
}
