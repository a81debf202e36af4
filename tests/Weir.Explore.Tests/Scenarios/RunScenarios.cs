using System.Threading.Channels;
using Weir.Resilience;

namespace Weir.Explore.Tests.Scenarios;

/// <summary>Runs of the engine: who takes which item, and how a run ends.</summary>
public class RunScenarios(ITestOutputHelper output)
{
    private static readonly int[] Two = [1, 2];
    private static readonly int[] Three = [1, 2, 3];
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
    public void Turn_OfASequence_IsTakenByOneWorkerAtATime() => output.Explored(static async () =>
    {
        List<int> results = await ItemsAsync().SelectParallelAsync(
            static async (item, token) =>
            {
                await Task.Yield();
                return item;
            },
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
        await queue.ForEachParallelAsync((item, token) => new ValueTask<int>(Interlocked.Add(ref sum, item)), TwoWorkers);
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

        // Both wait for the circuit. They come back on this thread, and the worker that reads lends its place for them.
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
            new ParallelRunOptions { MaxDegreeOfParallelism = 1, SharedCircuitBreaker = breaker, OpenCircuitMode = OpenCircuitMode.WaitForHalfOpen });
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
        int calls = 0;
        Task pausing = Task.Run(() =>
        {
            control.Pause();
            control.Resume();
        });
        await Two.ForEachParallelAsync(
            async (item, token) =>
            {
                await Task.Yield();
                Interlocked.Increment(ref calls);
            },
            TwoWorkers with { Control = control });
        Assert.Equal(2, calls);
        await pausing;
    });

    [Fact]
    public void Stop_AtAnyTime_IsTheEndOfTheRun() => output.Explored(static async () =>
    {
        RunControl control = new();
        Task stopping = Task.Run(control.Stop);
        int calls = 0;
        await Two.ForEachParallelAsync(
            async (item, token) =>
            {
                await Task.Yield();
                Interlocked.Increment(ref calls);
            },
            TwoWorkers with { Control = control });
        Assert.InRange(calls, 0, 2);
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
        int calls = 0;
        await ItemsAsync().ForEachParallelAsync(
            async (item, token) =>
            {
                await Task.Yield();
                Interlocked.Increment(ref calls);
            },
            TwoWorkers with { Control = control });
        Assert.Equal(3, calls);
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
    public void Stream_LeftEarly_Ends() => output.Explored(static async () =>
    {
        int seen = 0;
        await foreach (int item in Three.SelectParallelStreamAsync(
            static async (item, token) =>
            {
                await Task.Yield();
                return item;
            },
            TwoWorkers))
        {
            seen++;
            break;
        }

        Assert.Equal(1, seen);
    });

    [Fact]
    public void Stream_OfAll_HasEachItemOnce() => output.Explored(static async () =>
    {
        List<int> seen = [];
        await foreach (int item in ItemsAsync().SelectParallelStreamAsync(
            static async (item, token) =>
            {
                await Task.Yield();
                return item;
            },
            TwoWorkers))
        {
            seen.Add(item);
        }

        Assert.Equal([1, 2, 3], seen.Order());
    });

    [Fact]
    public void Stream_AtItsBound_GoesOnWhenItsConsumerDoes() => output.Explored(static async () =>
    {
        int seen = 0;
        await foreach (int item in Three.SelectParallelStreamAsync(
            static async (item, token) =>
            {
                await Task.Yield();
                return item;
            },
            TwoWorkers with { ChannelCapacity = 1 }))
        {
            seen++;
            await Task.Yield();
        }

        Assert.Equal(3, seen);
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

    private static async IAsyncEnumerable<int> ItemsAsync()
    {
        foreach (int item in Three)
        {
            await Task.Yield();
            yield return item;
        }
    }
}
