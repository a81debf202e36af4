using System.Collections.Concurrent;
using Weir.Core.Dispatch;
using Weir.Core.Threads;
using Weir.Runtimes;
using Weir.TestKit;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Runtimes;

/// <summary>The threads of a parallel runtime: dedicated, started ahead, kept, replaced and ended.</summary>
public class ParallelRuntimeThreadTests
{
    [Fact(Timeout = 90_000)]
    public async Task Constructor_Threads_AreStartedAhead()
    {
        Assert.SkipUnless(OperatingSystem.IsLinux(), "Threads of a process are listed with their names only there.");
        string name = $"ahead{Environment.CurrentManagedThreadId}";
        using (ThreadTeam team = new(3, name))
        {
            Assert.True(await RuntimeRun.UntilAsync(() => Alive(name) == 3));
        }

        Assert.True(await RuntimeRun.UntilAsync(() => Alive(name) == 0));

        static int Alive(string name)
        {
            int alive = 0;
            foreach (string task in Directory.EnumerateDirectories("/proc/self/task"))
            {
                try
                {
                    alive += File.ReadAllText(Path.Combine(task, "comm")).StartsWith(name, StringComparison.Ordinal) ? 1 : 0;
                }
                catch (IOException)
                {
                    // The thread ended meanwhile.
                }
            }

            return alive;
        }
    }

    [Theory(Timeout = 90_000)]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(4)]
    public async Task ProcessManyAsync_AllWorkersBusy_UsesThatManyThreadsOfItsOwnInEveryCall(int workers)
    {
        await using ParallelRuntime runtime = new(workers);
        HashSet<Thread> known = [];
        for (int call = 0; call < 5; call++)
        {
            using RuntimeGate gate = new();
            ConcurrentQueue<Thread> threads = [];
            Task<ItemOutcome<int, int>[]> running = runtime.ProcessManyAsync(RuntimeRun.Count(workers * 3), (x, _) =>
            {
                threads.Enqueue(Thread.CurrentThread);
                return new ValueTask<int>(gate.Block(x));
            });
            await gate.ArrivedAsync(workers);
            Assert.Equal(workers, threads.Distinct().Count());
            gate.Open();
            await running;
            Assert.All(threads, static t => Assert.False(t.IsThreadPoolThread));
            known.UnionWith(threads);
        }

        Assert.Equal(workers, known.Count);
        Assert.Equal(0, runtime.Statistics.ReplacedThreads);
    }

    [Fact(Timeout = 90_000)]
    public async Task ProcessManyAsync_ItemsThatSuspend_ComeBackToTheThreadsOfTheTeam()
    {
        await using ParallelRuntime runtime = new(2);
        ConcurrentDictionary<Thread, int> threads = [];
        ItemOutcome<int, int>[] outcomes = await runtime.ProcessManyAsync(RuntimeRun.Count(2000), async (x, _) =>
        {
            // The start of each item; what comes after its own await is where the user's code put it.
            threads.AddOrUpdate(Thread.CurrentThread, 1, static (_, n) => n + 1);
            await Task.Yield();
            return x;
        });
        Assert.Equal(2000, outcomes.Count(static o => o.IsSuccess));
        Assert.Equal(2000, threads.Values.Sum());
        Assert.InRange(threads.Count, 1, 2);
        Assert.All(threads.Keys, static t => Assert.False(t.IsThreadPoolThread));
    }

    [Fact(Timeout = 90_000)]
    public async Task ProcessManyAsync_ItemCompletesAnothersWait_DoesNotRunTheOtherCallsItemsInItself()
    {
        // One thread: the item of the second call ends the wait of the first call's item. What the first call does next must not happen
        // inside the second's item, which would then wait for it.
        await using ParallelRuntime runtime = new(1);
        TaskCompletionSource<int> inline = new();
        using RuntimeGate gate = new();
        TaskCompletionSource waiting = new(TaskCreationOptions.RunContinuationsAsynchronously);
        Task<ItemOutcome<int, int>[]> first = runtime.ProcessManyAsync(RuntimeRun.Count(2), (x, _) =>
        {
            if (x == 0)
            {
                waiting.SetResult();
                return new ValueTask<int>(inline.Task);
            }

            return new ValueTask<int>(gate.Block(x));
        });
        await waiting.Task;
        Task<ItemOutcome<int, int>[]> second = runtime.ProcessManyAsync([0], (x, _) =>
        {
            inline.SetResult(x);
            return new ValueTask<int>(x);
        });
        Assert.True((await second)[0].IsSuccess);
        gate.Open();
        Assert.All(await first, static o => Assert.True(o.IsSuccess));
    }

    [Fact(Timeout = 90_000)]
    public async Task ProcessManyAsync_ThreadsStuckPastTheDeadline_AreReplacedAndEndWhenTheirCallsReturn()
    {
        ManualTimeProvider clock = new();
        ParallelRuntime runtime = new(2, new RuntimeOptions { TimeProvider = clock });
        using RuntimeGate gate = new();
        ConcurrentQueue<Thread> stuck = [];
        ConcurrentQueue<Thread> working = [];
        Task<ItemOutcome<int, int>[]> call = runtime.ProcessManyAsync(
            RuntimeRun.Count(1000),
            (x, _) =>
            {
                if (x is 0 or 1)
                {
                    stuck.Enqueue(Thread.CurrentThread);
                    return new ValueTask<int>(gate.Block(x));
                }

                working.Enqueue(Thread.CurrentThread);
                return new ValueTask<int>(x);
            },
            new ProcessManyOptions { PerItemTimeout = TimeSpan.FromSeconds(5) });
        await gate.ArrivedAsync(2);
        await clock.PassAsync(TimeSpan.FromSeconds(5), call);
        ItemOutcome<int, int>[] outcomes = await call;
        RuntimeRun.AssertTimedOut(outcomes[0]);
        RuntimeRun.AssertTimedOut(outcomes[1]);
        Assert.All(outcomes[2..], static o => Assert.True(o.IsSuccess));
        Assert.Equal(2, runtime.Statistics.ReplacedThreads);
        Assert.Equal(2, stuck.Distinct().Count());
        Assert.Empty(working.Intersect(stuck));

        // The runtime ends although two of its threads are stuck; they end when their calls return.
        await runtime.DisposeAsync();
        Assert.True(await RuntimeRun.UntilAsync(() => working.Distinct().All(static t => !t.IsAlive)));
        Assert.All(stuck, static t => Assert.True(t.IsAlive));
        gate.Open();
        Assert.True(await RuntimeRun.UntilAsync(() => stuck.All(static t => !t.IsAlive)));
    }

    [Fact(Timeout = 90_000)]
    public async Task DisposeAsync_Threads_AllEnd()
    {
        ParallelRuntime runtime = new(4);
        using RuntimeGate gate = new();
        ConcurrentQueue<Thread> threads = [];
        Task<ItemOutcome<int, int>[]> call = runtime.ProcessManyAsync(RuntimeRun.Count(4), (x, _) =>
        {
            threads.Enqueue(Thread.CurrentThread);
            return new ValueTask<int>(gate.Block(x));
        });
        await gate.ArrivedAsync(4);
        gate.Open();
        await call;
        await runtime.DisposeAsync();
        Assert.Equal(4, threads.Distinct().Count());
        Assert.True(await RuntimeRun.UntilAsync(() => threads.All(static t => !t.IsAlive)));
    }

    [Fact(Timeout = 90_000)]
    public async Task ProcessManyAsync_BatchTimeoutWhileAnotherCallHoldsEveryThread_ReturnsAllTheSame()
    {
        ManualTimeProvider clock = new();
        await using ParallelRuntime runtime = new(1, new RuntimeOptions { TimeProvider = clock });
        using RuntimeGate holding = new();
        using RuntimeGate gate = new();

        // The item waits without a thread, then the only thread is taken by another call for good, then time passes.
        Task<ItemOutcome<int, int>[]> call = runtime.ProcessManyAsync(
            RuntimeRun.Count(3), (x, _) => gate.PassAsync(x),
            new ProcessManyOptions { PerItemTimeout = TimeSpan.FromSeconds(5), TotalTimeout = TimeSpan.FromSeconds(9) });
        await gate.ArrivedAsync(1);
        Task<ItemOutcome<int, int>[]> other = runtime.ProcessManyAsync([1], (x, _) => new ValueTask<int>(holding.Block(x)));
        await holding.ArrivedAsync(1);

        // Not on with real time: on a busy machine, the call's time would be up before the item's.
        await clock.AdvanceUntilAsync(RuntimeRun.UntilAsync(() => runtime.Statistics.AbandonedWorkers == 1), TimeSpan.FromSeconds(5));
        await clock.AdvanceUntilAsync(call, TimeSpan.FromSeconds(4));
        ItemOutcome<int, int>[] outcomes = await call;
        RuntimeRun.AssertTimedOut(outcomes[0]);
        Assert.Contains("item", outcomes[0].Error!.Message, StringComparison.Ordinal);
        Assert.All(outcomes[1..], RuntimeRun.AssertTooLate);
        holding.Open();
        Assert.True((await other)[0].IsSuccess);
        runtime.AssertIdle(1, 1);
        Assert.Equal(1, runtime.Statistics.AbandonedWorkers);
    }
}
