using System.Collections.Concurrent;
using Weir.Runtimes;
using Weir.TestKit;

namespace Weir.Tests.Runtimes;

/// <summary>Threads that die, and what must not become of anybody's items when they do.</summary>
public class ParallelRuntimeCrashTests
{
    [Fact(Timeout = 90_000)]
    public async Task ProcessManyAsync_ThreadIsInterrupted_IsReplacedAndNothingIsLost()
    {
        await using ParallelRuntime runtime = new(2);
        ConcurrentQueue<Thread> died = [];
        ItemOutcome<int, int>[] outcomes = await runtime.ProcessManyAsync(RuntimeRun.Count(1000), (x, _) =>
        {
            if (x == 500)
            {
                died.Enqueue(Thread.CurrentThread);
                Thread.CurrentThread.Interrupt();
            }

            return new ValueTask<int>(x);
        });
        Assert.Equal(RuntimeRun.Count(1000), outcomes.Select(static o => o.Value));
        Thread dead = Assert.Single(died);
        Assert.True(await RuntimeRun.UntilAsync(() => !dead.IsAlive && runtime.Statistics.ReplacedThreads == 1), $"{runtime.Statistics}");

        // Both places are still there.
        using RuntimeGate gate = new();
        Task<ItemOutcome<int, int>[]> again = runtime.ProcessManyAsync(RuntimeRun.Count(2), (x, _) => new ValueTask<int>(gate.Block(x)));
        await gate.ArrivedAsync(2);
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

    [Theory(Timeout = 60_000)]
    [InlineData("parallel 1")]
    [InlineData("parallel 2")]
    [InlineData("parallel 4")]
    public async Task ProcessMany_ManyCrashesInARowWithConcurrentCallers_NeverMixesUpOrLosesAnOutcome(string name)
    {
        // Callers that use the same indices at the same time, while threads die under them all the time. No item suspends: an interrupt that surfaces while
        // the platform queues a continuation loses that continuation, and with it the item's task.
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        const int Callers = 6;
        const int Items = 400;
        for (int round = 0; round < 10; round++)
        {
            ItemOutcome<int, (int Caller, int Item)>[][] all = await Task.WhenAll(RuntimeRun.Count(Callers).Select(caller =>
                RuntimeRun.Start((RunForm)(caller % 3), runtime, RuntimeRun.Count(Items), (x, _) =>
                {
                    if ((x + caller) % 7 == 0)
                    {
                        Thread.CurrentThread.Interrupt();
                    }

                    return x % 13 == 0 ? throw new InvalidDataException($"{caller}:{x}") : new ValueTask<(int Caller, int Item)>((caller, x));
                })));
            for (int caller = 0; caller < Callers; caller++)
            {
                for (int x = 0; x < Items; x++)
                {
                    ItemOutcome<int, (int, int)> outcome = all[caller][x];

                    // An interrupt may surface in the next wait of user code on the thread, and then it is that item's failure.
                    if (outcome.Error is ThreadInterruptedException)
                    {
                        continue;
                    }

                    if (x % 13 == 0)
                    {
                        Assert.Equal($"{caller}:{x}", outcome.Error?.Message);
                    }
                    else
                    {
                        Assert.Equal((caller, x), outcome.Value);
                    }
                }
            }
        }

        RuntimeStatistics statistics = runtime.Statistics;
        Assert.Equal(10 * Callers * Items, statistics.Succeeded + statistics.Failed + statistics.Cancelled);
        Assert.Equal(0, statistics.ActiveCalls);
        Assert.Equal(0, statistics.InFlight);
    }

    [Fact(Timeout = 60_000)]
    public async Task ProcessManyAsync_EveryThreadGetsStuckAgainAndAgain_CallersStillGetTheirOwn()
    {
        ManualTimeProvider clock = new();
        await using ParallelRuntime runtime = new(2, new RuntimeOptions { TimeProvider = clock });
        using RuntimeGate stuck = new();
        const int Callers = 3;

        // Far more than an item may be held up for: the clock goes on as fast as real time while the others run.
        TimeSpan limit = TimeSpan.FromMinutes(1);
        for (int round = 0; round < 8; round++)
        {
            Task<ItemOutcome<int, int>[]>[] calls = [.. RuntimeRun.Count(Callers).Select(caller => RuntimeRun.Start(
                RunForm.Array, runtime, RuntimeRun.Count(50), (x, _) => new ValueTask<int>(x == caller ? stuck.Block(x) : x + (caller * 1000)),
                new ProcessManyOptions { PerItemTimeout = limit }))];
            Task<ItemOutcome<int, int>[][]> all = Task.WhenAll(calls);

            // There are two threads, so that the third caller's turn to get stuck comes when the first two have been given up.
            await stuck.ArrivedAsync((round * Callers) + 2);
            await clock.PassAsync(limit, stuck.ArrivedAsync((round + 1) * Callers));
            await runtime.SettledAsync((round + 1) * Callers * 49);
            await clock.PassAsync(limit, all);
            ItemOutcome<int, int>[][] outcomes = await all;
            for (int caller = 0; caller < Callers; caller++)
            {
                RuntimeRun.AssertTimedOut(outcomes[caller][caller]);
                Assert.All(outcomes[caller], (o, x) => Assert.True(x == caller || o.Value == x + (caller * 1000)));
            }
        }

        Assert.Equal(8 * Callers, runtime.Statistics.ReplacedThreads);
        Assert.Equal(8 * Callers, runtime.Statistics.AbandonedWorkers);
        runtime.AssertIdle(8 * Callers * 49, 8 * Callers);
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
