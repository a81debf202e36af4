using System.Threading.Channels;
using Weir.Resilience;
using Weir.Runtimes;

namespace Weir.Explore.Tests.Scenarios;

/// <summary>Runs of the engine: who takes which item, and how a run ends.</summary>
public class RunScenarios(ITestOutputHelper output)
{
    private static readonly int[] Two = [1, 2];
    private static readonly int[] Three = [1, 2, 3];
    private static readonly int[] Seven = [1, 2, 3, 4, 5, 6, 7];
    private static readonly ParallelRunOptions TwoWorkers = new() { MaxDegreeOfParallelism = 2 };

    [Fact]
    public void Claims_OfAnArray_RunEachItemOnce() => output.Explored(static async () =>
    {
        List<int> results = await Three.SelectParallelAsync(
            static async (item, token) =>
            {
                await Task.Yield();
                return item * 10;
            },
            TwoWorkers);
        Assert.Equal([10, 20, 30], results);
    });

    [Fact]
    public void Ends_OfCallsThatWaitTogether_CountOnce() => output.Explored(static async () =>
    {
        TaskCompletionSource<int>[] calls = [new(), new()];
        TaskCompletionSource bothCalled = new(TaskCreationOptions.RunContinuationsAsynchronously);
        int called = 0;
        Task<List<int>> run = Two.SelectParallelAsync(
            (item, token) =>
            {
                if (Interlocked.Increment(ref called) == 2)
                {
                    bothCalled.SetResult();
                }

                return new ValueTask<int>(calls[item - 1].Task);
            },
            TwoWorkers);
        await bothCalled.Task;
        Task ending = Task.Run(() => calls[1].SetResult(20));
        calls[0].SetResult(10);
        Assert.Equal([10, 20], await run);
        await ending;
    });

    [Fact]
    public void Turn_OfASequence_IsTakenByOneWorkerAtATime() => output.Explored(static async () =>
    {
        List<int> results = await Calls.ItemsAsync(Three).SelectParallelAsync(
            Calls.YieldedAsync,
            TwoWorkers);
        Assert.Equal([1, 2, 3], results);
    });

    [Fact]
    public void WorkQueue_ThatGrows_EndsWhenAllIsDone() => output.Explored(static async () =>
    {
        WorkQueue<int> queue = new();
        queue.Add(1);
        int sum = 0;
        await queue.ForEachParallelAsync(
            async (item, token) =>
            {
                await Task.Yield();
                Interlocked.Add(ref sum, item);
                if (item == 1)
                {
                    queue.Add(2);
                    queue.Add(3);
                }
            },
            TwoWorkers);
        Assert.Equal(6, sum);
        Assert.True(queue.IsCompleted);
    });

    [Fact]
    public void WorkQueue_AddedToFromOutside_LosesNothing() => output.Explored(static async () =>
    {
        WorkQueue<int> queue = new();
        IDisposable open = queue.KeepOpen();
        int sum = 0;
        Task adding = Task.Run(() =>
        {
            queue.Add(1);
            queue.Add(2);
            open.Dispose();
        });
        await queue.ForEachParallelAsync((item, token) => { Interlocked.Add(ref sum, item); }, TwoWorkers);
        await adding;
        Assert.Equal(3, sum);
    });

    [Fact]
    public void Place_OfAReader_IsNotUsedTwice() => output.Explored(static async () =>
    {
        CircuitBreaker breaker = new();
        breaker.Isolate();
        Channel<int> channel = Channel.CreateUnbounded<int>();
        channel.Writer.TryWrite(1);
        channel.Writer.TryWrite(2);

        // Both wait for the circuit. They come back on this thread, and may start while the worker that reads has no item.
        Task closing = Task.Run(() =>
        {
            breaker.Close();
            channel.Writer.TryWrite(3);
            channel.Writer.Complete();
        });
        int inside = 0;
        int most = 0;
        List<int> results = await channel.Reader.SelectParallelAsync(
            (item, token) =>
            {
                most = Math.Max(most, Interlocked.Increment(ref inside));
                Interlocked.Decrement(ref inside);
                return new ValueTask<int>(item);
            },
            new ParallelRunOptions { MaxDegreeOfParallelism = 1, CircuitBreaker = breaker, OpenCircuitMode = OpenCircuitMode.WaitForHalfOpen });
        await closing;
        Assert.Equal([1, 2, 3], results);
        Assert.Equal(1, most);
    });

    [Fact]
    public void Cancelled_AtAnyTime_EveryCallThatBeganHasEnded() => output.Explored(static async () =>
    {
        using CancellationTokenSource source = new();
        int begun = 0;
        int ended = 0;
        Task cancelling = Task.Run(source.Cancel);
        try
        {
            List<int> results = await Two.SelectParallelAsync(
                async (item, token) =>
                {
                    Interlocked.Increment(ref begun);
                    try
                    {
                        await Task.Yield();
                        return item;
                    }
                    finally
                    {
                        Interlocked.Increment(ref ended);
                    }
                },
                TwoWorkers, source.Token);
            Assert.Equal(Two, results);
        }
        catch (OperationCanceledException cancelled)
        {
            Assert.Equal(source.Token, cancelled.CancellationToken);
        }

        Assert.Equal(begun, ended);
        await cancelling;
    });

    [Fact]
    public void PauseAndResume_AtAnyTime_LeaveNothingBehind() => output.Explored(static async () =>
    {
        RunControl control = new();
        Calls calls = new();
        Task pausing = Task.Run(() =>
        {
            control.Pause();
            control.Resume();
        });
        await Two.ForEachParallelAsync(
            calls.CountedAsync,
            TwoWorkers with { Control = control });
        Assert.Equal(2, calls.Made);
        await pausing;
    });

    [Fact]
    public void Stop_AtAnyTime_IsTheEndOfTheRun() => output.Explored(static async () =>
    {
        RunControl control = new();
        Task stopping = Task.Run(control.Stop);
        Calls calls = new();
        await Two.ForEachParallelAsync(
            calls.CountedAsync,
            TwoWorkers with { Control = control });
        Assert.InRange(calls.Made, 0, 2);
        await stopping;
        RunControlSnapshot snapshot = control.Snapshot();
        Assert.Equal(0, snapshot.InFlight);
    });

    [Fact]
    public void Limit_MovedWhileARunGoesOn_LosesNoWorker() => output.Explored(static async () =>
    {
        RunControl control = new();
        Task moving = Task.Run(() =>
        {
            control.MaxDegreeOfParallelism = 1;
            control.MaxDegreeOfParallelism = 2;
        });
        Calls calls = new();
        await Calls.ItemsAsync(Three).ForEachParallelAsync(
            calls.CountedAsync,
            TwoWorkers with { Control = control });
        Assert.Equal(3, calls.Made);
        await moving;
    });

    [Fact]
    public void Failure_OfAnItem_StopsTheRunOnce() => output.Explored(static async () =>
    {
        await Assert.ThrowsAsync<InvalidOperationException>(static () => Two.ForEachParallelAsync(
            static async (item, token) =>
            {
                await Task.Yield();
                if (item == 1)
                {
                    throw new InvalidOperationException();
                }
            },
            TwoWorkers));
    });

    [Fact]
    public void Lane_OfAKey_RunsOneItemAtATimeInOrder() => output.Explored(static async () =>
    {
        int running = 0;
        List<int> order = [];
        await Three.PartitionBy(static item => item % 2).ForEachParallelAsync(
            async (item, token) =>
            {
                if (item % 2 == 1)
                {
                    Assert.Equal(1, Interlocked.Increment(ref running));
                    order.Add(item);
                    await Task.Yield();
                    Interlocked.Decrement(ref running);
                }
            },
            TwoWorkers);
        Assert.Equal([1, 3], order);
    });

    [Fact]
    public void TimeLimit_ThatRunsOutAsTheCallEnds_GivesOneOutcome() => output.Explored(static async () =>
    {
        ItemOutcome<int, int>[] outcomes = await Two.SelectParallelOutcomesAsync(
            static async (item, token) =>
            {
                await Task.Delay(TimeSpan.FromMilliseconds(10 * item), TimeProvider.System, CancellationToken.None);
                return item;
            },
            TwoWorkers with { PerItemTimeout = TimeSpan.FromMilliseconds(10) });
        Assert.Equal(2, outcomes.Length);
        Assert.False(outcomes[1].IsSuccess);
    });

    [Fact]
    public void Turn_GivenUpAsAWorkerLeavesForIt_IsTakenByThatWorker() => output.Explored(static async () =>
    {
        // The first two calls wait until both have begun, so there are two workers. The third call blocks its thread until the fourth begins.
        TaskCompletionSource both = new(TaskCreationOptions.RunContinuationsAsynchronously);
        using ManualResetEventSlim last = new();
        int begun = 0;
        await Four().ForEachParallelAsync(
            async (item, token) =>
            {
                if (item <= 2)
                {
                    if (Interlocked.Increment(ref begun) == 2)
                    {
                        both.SetResult();
                    }

                    await both.Task;
                }
                else if (item == 3)
                {
                    last.Wait(CancellationToken.None);
                }
                else
                {
                    last.Set();
                }
            },
            TwoWorkers);
        AssertNobodyWaitedForATimer();
    });

    [Fact]
    public void Stop_OfARunWithItemsClaimed_BeginsNoOther() => output.Explored(static async () =>
    {
        using CancellationTokenSource source = new();
        await using ConcurrentRuntime runtime = new(concurrencyPerCall: 1);
        int begun = 0;
        int begunAtStop = 0;
        Task stopping = Task.Run(() =>
        {
            source.Cancel();
            begunAtStop = begun;
        });
        try
        {
            await runtime.ProcessManyAsync(
                Seven, (item, token) => new ValueTask<int>(Interlocked.Increment(ref begun)), cancellationToken: source.Token);
        }
        catch (OperationCanceledException) when (source.IsCancellationRequested)
        {
        }

        await stopping;

        // One may have been about to begin.
        Assert.InRange(begun, begunAtStop, begunAtStop + 1);
    });

    [Fact]
    public void Cancelled_CallsWithATimeLimit_SeeItAtOnce() => output.Explored(static async () =>
    {
        using CancellationTokenSource source = new();
        Task cancelling = Task.Run(source.Cancel);
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => Two.ForEachParallelAsync(
            static (item, token) => new ValueTask(Task.Delay(Timeout.InfiniteTimeSpan, TimeProvider.System, token)),
            TwoWorkers with { PerItemTimeout = TimeSpan.FromHours(1) }, source.Token));
        await cancelling;
        AssertNobodyWaitedForATimer();
    });

    [Fact]
    public void Circuit_ThatClosesAsItRefuses_LetsTheItemGoOnAtOnce() => output.Explored(static async () =>
    {
        StandingClock clock = new();
        CircuitBreaker breaker = new(new CircuitBreakerOptions { TimeProvider = clock });
        breaker.Isolate();
        Task closing = Task.Run(breaker.Close);
        int calls = 0;
        await Two.ForEachParallelAsync(
            (item, token) => { Interlocked.Increment(ref calls); },
            TwoWorkers with { CircuitBreaker = breaker, OpenCircuitMode = OpenCircuitMode.WaitForHalfOpen, TimeProvider = clock });
        await closing;
        Assert.Equal(2, calls);
    });

    [Fact]
    public void RateLimit_OfARun_ServesEachItem() => output.Explored(static async () =>
    {
        int calls = 0;
        await Three.ForEachParallelAsync(
            (item, token) => { Interlocked.Increment(ref calls); },
            TwoWorkers with { RateLimit = new RateLimitOptions { TokensPerSecond = 1, BurstCapacity = 1 } });
        Assert.Equal(3, calls);
        Assert.InRange(Environment.TickCount64, 2_000, 2_100);
    });

    [Fact]
    public void Batches_OfARunThatIsPausedAndResumed_HaveEachItemOnce() => output.Explored(static async () =>
    {
        RunControl control = new();
        TaskCompletionSource paused = new(TaskCreationOptions.RunContinuationsAsynchronously);
        Task resuming = Task.Run(async () =>
        {
            await paused.Task;
            control.Resume();
        });
        List<int> sums = await Items().BatchParallelAsync(
            2, static (batch, token) => new ValueTask<int>(batch.Sum()), TwoWorkers with { MaxDegreeOfParallelism = 1, Control = control });
        await resuming;
        Assert.Equal([3, 7], sums);

        IEnumerable<int> Items()
        {
            // The batch has its first item, and is not full.
            control.Pause();
            paused.SetResult();
            yield return 1;
            yield return 2;
            yield return 3;
            yield return 4;
        }
    });

    /// <summary>What a lost wake-up costs, if the watch or a timer of a wait makes up for it. Time moves when nobody can run.</summary>
    private static void AssertNobodyWaitedForATimer() => Assert.InRange(Environment.TickCount64, 0, 5);

    private static IEnumerable<int> Four()
    {
        for (int i = 1; i <= 4; i++)
        {
            yield return i;
        }
    }
}
