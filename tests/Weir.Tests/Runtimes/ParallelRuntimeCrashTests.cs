using System.Collections.Concurrent;
using Weir.Runtimes;
using Weir.TestKit;

namespace Weir.Tests.Runtimes;

/// <summary>Threads that die, and what must not become of anybody's items when they do.</summary>
public class ParallelRuntimeCrashTests
{
    [Fact(Timeout = 90_000)]
    public async Task ProcessManyAsync_ThreadIsInterruptedAfterItsWork_IsReplaced()
    {
        await using ParallelRuntime runtime = new(1);
        ConcurrentQueue<Thread> died = [];
        ItemOutcome<int, int>[] outcomes = await runtime.ProcessManyAsync(RuntimeRun.Count(10), (x, _) =>
        {
            if (x == 9)
            {
                died.Enqueue(Thread.CurrentThread);
                Thread.CurrentThread.Interrupt();
            }

            return new ValueTask<int>(x);
        });
        Assert.Equal(RuntimeRun.Count(10), outcomes.Select(static o => o.Value));
        Thread dead = Assert.Single(died);
        Assert.True(await RuntimeRun.UntilAsync(() => !dead.IsAlive && runtime.Statistics.ReplacedThreads == 1), $"{runtime.Statistics}");

        // Its place is still there.
        using RuntimeGate gate = new();
        Task<ItemOutcome<int, int>[]> again = runtime.ProcessManyAsync(RuntimeRun.Count(1), (x, _) => new ValueTask<int>(gate.Block(x)));
        await gate.ArrivedAsync(1);
        gate.Open();
        Assert.All(await again, static o => Assert.True(o.IsSuccess));
    }

    [Fact(Timeout = 90_000)]
    public async Task ProcessManyAsync_InterruptHitsTheItemsOwnWait_IsThatItemsFailure()
    {
        await using ParallelRuntime runtime = new(1);
        using ManualResetEventSlim never = new();
        ItemOutcome<int, int>[] outcomes = await runtime.ProcessManyAsync(RuntimeRun.Count(10), (x, token) =>
        {
            if (x == 4)
            {
                Thread.CurrentThread.Interrupt();
                never.Wait(token);
            }

            return new ValueTask<int>(x);
        });
        Assert.IsType<ThreadInterruptedException>(outcomes[4].Error);
        Assert.Equal(9, outcomes.Count(static o => o.IsSuccess));
        runtime.AssertIdle(9, 1);
    }

    [Fact(Timeout = 90_000)]
    public async Task ProcessManyAsync_OneThreadStuck_NoItemFailsWhileTheOtherIsIdle()
    {
        // A stuck thread has no deadline here, so it is not replaced: everything else runs on the other one.
        await using ParallelRuntime runtime = new(2);
        using RuntimeGate gate = new();
        Task<ItemOutcome<int, int>[]> stuck = runtime.ProcessManyAsync([1], (x, _) => new ValueTask<int>(gate.Block(x)));
        await gate.ArrivedAsync(1);
        for (int call = 0; call < 20; call++)
        {
            ItemOutcome<int, int>[] outcomes = await runtime.ProcessManyAsync(RuntimeRun.Count(500), static (x, _) => new ValueTask<int>(x));
            Assert.Equal(RuntimeRun.Count(500), outcomes.Select(static o => o.Value));
        }

        gate.Open();
        Assert.True((await stuck)[0].IsSuccess);
    }
}
