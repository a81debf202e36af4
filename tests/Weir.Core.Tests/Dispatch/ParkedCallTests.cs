using System.Runtime.CompilerServices;
using Weir.Core.Dispatch;
using Weir.Core.Metering;
using Weir.Core.Sinks;
using Weir.Core.Sources;
using Weir.Core.Threads;

namespace Weir.Core.Tests.Dispatch;

/// <summary>Calls that have suspended in a run whose items may all be in flight: they hold no worker, and many wait with one object.</summary>
public class ParkedCallTests
{
    [Theory(Timeout = 90_000)]
    [InlineData(1)]
    [InlineData(7)]
    [InlineData(100)]
    public async Task Suspension_OfCallsThatMayAllRun_HoldsNoWorker(int count)
    {
        ManualExecutor executor = new();
        TaskCompletionSource<int>[] items = Pending(count);
        TestRun<int, int> run = Run(count, (x, _) => new ValueTask<int>(items[x].Task), executor);
        executor.RunAll();
        Assert.Equal(0, run.Pump.Live);
        Assert.Equal(count, run.Pump.Sample().InFlight);
        for (int i = count - 1; i >= 0; i--)
        {
            Assert.False(run.Task.IsCompleted);
            items[i].SetResult(i);
            RunSample sample = run.Pump.Sample();
            Assert.Equal(i, sample.InFlight);
            Assert.Equal(count - i, sample.Succeeded);
        }

        Assert.Equal(Enumerable.Range(0, count), await run.Task.WithinAsync());
    }

    [Theory(Timeout = 90_000)]
    [InlineData(ErrorMode.FailFast)]
    [InlineData(ErrorMode.CollectAndContinue)]
    [InlineData(ErrorMode.BestEffort)]
    public async Task Failure_OfParkedCalls_IsThatOfTheirItems(ErrorMode mode)
    {
        ManualExecutor executor = new();
        TaskCompletionSource<int>[] items = Pending(4);
        List<long> reported = [];
        TaskCompletionSource<bool> hook = new();
        PumpSettings settings = Settings(executor) with
        {
            ErrorMode = mode,
            OnError = (index, _) =>
            {
                reported.Add(index);
                return new ValueTask<bool>(hook.Task);
            },
        };
        TestRun<int, int> run = new TestRun<int, int>(
            SourceOf.Enumerable([0, 1, 2, 3]), (x, _) => new ValueTask<int>(items[x].Task), settings).Start();
        executor.RunAll();
        items[2].SetException(new TestException("two"));
        items[0].SetResult(0);
        items[1].SetException(new TestException("one"));
        items[3].SetResult(3);
        executor.RunAll();
        Assert.False(run.Task.IsCompleted, "A hook has not ended.");
        RunSample sample = run.Pump.Sample();
        Assert.Equal((2, 2), (sample.Succeeded, sample.Unsuccessful));
        hook.SetResult(true);
        executor.RunAll();
        Task<List<int>> ended = run.Task.WithinAsync();
        if (mode == ErrorMode.BestEffort)
        {
            Assert.Equal([0, 3], await ended);
        }
        else if (mode == ErrorMode.FailFast)
        {
            Assert.Equal("two", (await Assert.ThrowsAsync<TestException>(() => ended)).Message);
        }
        else
        {
            ItemsFailedException error = await Assert.ThrowsAnyAsync<ItemsFailedException>(() => ended);
            Assert.Equal([1L, 2L], error.Failures.Select(static f => f.Index));
        }

        Assert.Equal(mode == ErrorMode.FailFast ? [2L] : [2L, 1L], reported);
    }

    [Fact(Timeout = 90_000)]
    public async Task Stop_WhileCallsAreParked_WaitsForTheirEnd()
    {
        ManualExecutor executor = new();
        TaskCompletionSource<int>[] items = Pending(3);
        using CancellationTokenSource cancel = new();
        CancellationToken seen = default;
        TestRun<int, int> run = new TestRun<int, int>(SourceOf.Enumerable([0, 1, 2]), (x, token) =>
        {
            seen = token;
            return new ValueTask<int>(items[x].Task);
        }, Settings(executor)).Start(cancel.Token);
        executor.RunAll();
        await cancel.CancelAsync();
        Assert.True(seen.IsCancellationRequested);
        items[0].SetResult(0);
        items[1].SetCanceled(seen);
        executor.RunAll();
        Assert.False(run.Task.IsCompleted, "A call has not ended.");
        items[2].SetException(new OperationCanceledException(seen));
        executor.RunAll();
        Assert.Equal(cancel.Token, (await Assert.ThrowsAnyAsync<OperationCanceledException>(() => run.Task.WithinAsync())).CancellationToken);
        Assert.Equal(2, run.Pump.Sample().Cancelled);
    }

    [Fact(Timeout = 90_000)]
    public async Task TaskSource_CallsBackAgain_EndsItsCallOnce()
    {
        ManualExecutor executor = new();
        FaultyCall[] sources = [.. Enumerable.Range(0, 5).Select(static x => new FaultyCall(x, FaultyCall.Fault.CallsBackAgain))];
        TestRun<int, int> run = Run(5, (x, _) => sources[x].Start(), executor);
        executor.RunAll();
        for (int i = 4; i >= 0; i--)
        {
            CallBackTwice(sources[i]);
            Assert.Equal((i, 5 - i), (run.Pump.Sample().InFlight, run.Pump.Sample().Succeeded));
        }

        Assert.Equal(Enumerable.Range(0, 5), await run.Task.WithinAsync());
    }

    [Fact(Timeout = 90_000)]
    public async Task Thread_OfOneCall_TakesAllThatHaveEnded()
    {
        // What the calls continue is queued, so all of them have ended before the first thread comes.
        ManualExecutor executor = new();
        TaskCompletionSource<int>[] items = [.. Enumerable.Range(0, 40).Select(static _ => new TaskCompletionSource<int>())];
        TestRun<int, int> run = Run(40, (x, _) => new ValueTask<int>(items[x].Task), executor);
        executor.RunAll();
        executor.RunsHere = false;
        for (int x = 0; x < 39; x++)
        {
            items[x].SetResult(x);
        }

        Assert.Equal((40, 0), (run.Pump.Sample().InFlight, run.Pump.Sample().Succeeded));
        executor.RunOne();
        Assert.Equal((24, 16), (run.Pump.Sample().InFlight, run.Pump.Sample().Succeeded));
        executor.RunAll();
        Assert.Equal((1, 39), (run.Pump.Sample().InFlight, run.Pump.Sample().Succeeded));
        items[39].SetResult(39);
        executor.RunAll();
        Assert.Equal(Enumerable.Range(0, 40), await run.Task.WithinAsync());
    }

    [Fact(Timeout = 90_000)]
    public async Task TaskSource_CannotBeWaitedFor_FailsItsItemAlone()
    {
        ManualExecutor executor = new();
        TaskCompletionSource<int>[] items = Pending(3);
        TestRun<int, int> run = new TestRun<int, int>(
            SourceOf.Enumerable([0, 1, 2]),
            (x, _) => x == 1 ? new FaultyCall(1, FaultyCall.Fault.ThrowsAndCallsBack).Start() : new ValueTask<int>(items[x].Task),
            Settings(executor) with { ErrorMode = ErrorMode.BestEffort }).Start();
        executor.RunAll();
        Assert.Equal((2, 1), (run.Pump.Sample().InFlight, run.Pump.Sample().Unsuccessful));
        items[0].SetResult(0);
        items[2].SetResult(2);
        Assert.Equal([0, 2], await run.Task.WithinAsync());
    }

    [Fact(Timeout = 90_000)]
    public async Task End_OfARun_LeavesNothingAliveInTheCalls()
    {
        (WeakReference result, Task ended) = RunWithAResult();
        await ended.WithinAsync();

        // The thread that ended the run may still have it on its stack.
        await Leak.GoneAsync([result], "the result of a run that has ended");
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static (WeakReference Result, Task Ended) RunWithAResult()
    {
        ManualExecutor executor = new();
        TaskCompletionSource<object>[] items = [new(), new()];
        TestRun<int, object> run = new TestRun<int, object>(
            SourceOf.Enumerable([0, 1]), (x, _) => new ValueTask<object>(items[x].Task), Settings(executor)).Start();
        executor.RunAll();
        object result = new();
        items[0].SetResult(new object());
        items[1].SetResult(result);

        // Unlike the run's own task, this one keeps no results.
        return (new WeakReference(result), run.Task.ContinueWith(static _ => { }, TaskScheduler.Default));
    }

    private static void CallBackTwice(FaultyCall call)
    {
        call.CallBack();
        call.CallBack();
    }

    private static TaskCompletionSource<int>[] Pending(int count) => [.. Enumerable.Range(0, count).Select(static _ => new TaskCompletionSource<int>())];

    private static PumpSettings Settings(Executor executor) => new() { Limit = 100, ErrorMode = ErrorMode.FailFast, Executor = executor };

    private static TestRun<int, int> Run(int count, Func<int, CancellationToken, ValueTask<int>> selector, Executor executor) =>
        new TestRun<int, int>(SourceOf.Enumerable(Enumerable.Range(0, count).ToArray()), selector, Settings(executor)).Start();
}
