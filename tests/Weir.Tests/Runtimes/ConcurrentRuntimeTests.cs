using System.Collections.Concurrent;
using Weir.Runtimes;

namespace Weir.Tests.Runtimes;

/// <summary>What only a concurrent runtime promises: many items in flight on few threads, and threads for items that block all the same.</summary>
public class ConcurrentRuntimeTests
{
    [Fact(Timeout = 90_000)]
    public async Task ProcessManyAsync_ThousandsOfWaitingItems_NeedNoThreads()
    {
        await using ConcurrentRuntime runtime = new(5000);
        using RuntimeGate gate = new();
        ConcurrentDictionary<Thread, bool> threads = [];
        Task<ItemOutcome<int, int>[]> call = runtime.ProcessManyAsync(RuntimeRun.Count(6000), (x, _) =>
        {
            threads[Thread.CurrentThread] = true;
            return gate.PassAsync(x);
        });
        await gate.ArrivedAsync(5000);
        Assert.Equal(5000, gate.Arrived);

        // One thread would do. How many there are is up to the pool, which other tests use at the same time.
        Assert.InRange(threads.Count, 1, 500);
        gate.Open();
        Assert.Equal(RuntimeRun.Count(6000), (await call).Select(static o => o.Value));
    }

    [Theory(Timeout = 90_000)]
    [InlineData(2, 0)]
    [InlineData(8, 0)]
    [InlineData(8, 1000)]
    public async Task ProcessManyAsync_BlockingItems_ReachTheConcurrencyAllTheSame(int concurrency, int quickItemsBefore)
    {
        await using ConcurrentRuntime runtime = new(concurrency);
        using RuntimeGate gate = new();
        Task<ItemOutcome<int, int>[]> call = runtime.ProcessManyAsync(
            RuntimeRun.Count(quickItemsBefore + (2 * concurrency)), (x, _) => new ValueTask<int>(x < quickItemsBefore ? x : gate.Block(x)));
        await gate.ArrivedAsync(concurrency);
        Assert.Equal(concurrency, gate.Arrived);
        gate.Open();
        Assert.All(await call, static (o, x) => Assert.Equal(x, o.Value));
    }

    [Fact(Timeout = 90_000)]
    public async Task ProcessManyAsync_OneItemBlocksAmongQuickOnes_StallsNoOther()
    {
        await using ConcurrentRuntime runtime = new(4);
        await AssertStallsNoOtherAsync(runtime);
    }

    [Fact(Timeout = 90_000)]
    public async Task ProcessManyAsync_ItemCompletedOnAForeignThread_GoesOnOnThePool()
    {
        await using ConcurrentRuntime runtime = new(1);
        TaskCompletionSource<int> inline = new();
        TaskCompletionSource waiting = new(TaskCreationOptions.RunContinuationsAsynchronously);
        Thread? next = null;
        Task<ItemOutcome<int, int>[]> call = runtime.ProcessManyAsync(RuntimeRun.Count(2), (x, _) =>
        {
            if (x == 0)
            {
                waiting.SetResult();
                return new ValueTask<int>(inline.Task);
            }

            next = Thread.CurrentThread;
            return new ValueTask<int>(x);
        });
        await waiting.Task;
        Assert.True(await RuntimeRun.UntilAsync(() => runtime.Statistics.InFlight == 1));
        Thread foreign = new(() => inline.SetResult(0));
        foreign.Start();
        await call;
        Assert.NotSame(foreign, next);
        Assert.True(next!.IsThreadPoolThread);
    }

    [Fact(Timeout = 90_000)]
    public async Task ProcessManyAsync_CallerWithASynchronizationContext_ItemsDoNotRunOnIt()
    {
        await using ConcurrentRuntime runtime = new(4);
        SynchronizationContext? before = SynchronizationContext.Current;
        ForbiddenContext forbidden = new();
        Task<ItemOutcome<int, int>[]> call;
        try
        {
            SynchronizationContext.SetSynchronizationContext(forbidden);
            call = runtime.ProcessManyAsync(RuntimeRun.Count(100), async (x, _) =>
            {
                Assert.Null(SynchronizationContext.Current);
                await Task.Yield();
                return x;
            });
        }
        finally
        {
            SynchronizationContext.SetSynchronizationContext(before);
        }

        Assert.All(await call, static o => Assert.True(o.IsSuccess, o.Error?.ToString()));
        Assert.Equal(0, forbidden.Posts);
    }

    /// <summary>An item in the middle of quick ones blocks its thread until all others have ended.</summary>
    internal static async Task AssertStallsNoOtherAsync(IExecutionRuntime runtime)
    {
        using RuntimeGate gate = new();
        int left = 99_999;
        Task<ItemOutcome<int, int>[]> call = runtime.ProcessManyAsync(RuntimeRun.Count(100_000), (x, _) =>
        {
            if (x == 50_000)
            {
                return new ValueTask<int>(gate.Block(x));
            }

            if (Interlocked.Decrement(ref left) == 0)
            {
                gate.Open();
            }

            return new ValueTask<int>(x);
        });
        Assert.All(await call, static (o, x) => Assert.Equal(x, o.Value));
        Assert.Equal(0, left);
    }

    private sealed class ForbiddenContext : SynchronizationContext
    {
        private int _posts;

        public int Posts => Volatile.Read(ref _posts);

        public override void Post(SendOrPostCallback d, object? state)
        {
            Interlocked.Increment(ref _posts);
            ThreadPool.QueueUserWorkItem(_ => d(state));
        }
    }
}
