using System.Diagnostics;
using Weir.Runtimes;

namespace Weir.Tests.Runtimes;

/// <summary>How the callers of a parallel runtime share its threads, and how the items of one call do.</summary>
public class ParallelRuntimeSharingTests
{
    [Theory(Timeout = 60_000)]
    [InlineData(1)]
    [InlineData(2)]
    public async Task ProcessManyAsync_OneItemBesideHalfAMillion_DoesNotWaitForThem(int workers)
    {
        await using ParallelRuntime runtime = new(workers);
        bool others = true;
        TaskCompletionSource started = new(TaskCreationOptions.RunContinuationsAsynchronously);
        Task<ItemOutcome<int, int>[]> big = runtime.ProcessManyAsync(RuntimeRun.Count(500_000), (x, _) =>
        {
            started.TrySetResult();
            if (x > 400_000)
            {
                // The last ones take minutes together while the others wait: however late those come, they come before the end.
                SpinWait.SpinUntil(() => !Volatile.Read(ref others), 2);
            }

            return new ValueTask<int>(x);
        });
        await started.Task;
        for (int i = 0; i < 5; i++)
        {
            await runtime.ProcessManyAsync([i], static (x, _) => new ValueTask<int>(x));
        }

        Assert.False(big.IsCompleted);
        Volatile.Write(ref others, false);
        Assert.Equal(500_000, (await big).Count(static o => o.IsSuccess));
    }

    [Fact(Timeout = 60_000)]
    public async Task ProcessManyAsync_QuickItemsThatTurnSlow_DoNotKeepTheirOnlyThread()
    {
        // Quick items are claimed by the hundred. When they turn slow, other callers must not wait for all that was claimed.
        await using ParallelRuntime runtime = new(1);
        int slow = 0;
        TaskCompletionSource first = new(TaskCreationOptions.RunContinuationsAsynchronously);
        Task<ItemOutcome<int, int>[]> big = runtime.ProcessManyAsync(RuntimeRun.Count(21_000), (x, _) =>
        {
            if (x >= 20_000)
            {
                Interlocked.Increment(ref slow);
                first.TrySetResult();
                long until = Stopwatch.GetTimestamp() + (Stopwatch.Frequency / 1_000);
                while (Stopwatch.GetTimestamp() < until)
                {
                }
            }

            return new ValueTask<int>(x);
        });
        await first.Task;
        Task<ItemOutcome<int, int>[]> other = runtime.ProcessManyAsync([1], (_, _) => new ValueTask<int>(Volatile.Read(ref slow)));
        int before = Volatile.Read(ref slow);

        // The claim may be of 256 items; after it the other caller has its turn, with some 700 slow items still to come.
        int meanwhile = (await other)[0].Value - before;
        Assert.True(meanwhile <= 300, $"{meanwhile} items ran before the other caller's.");
        await big;
    }

    [Theory(Timeout = 60_000)]
    [InlineData(1)]
    [InlineData(2)]
    public async Task ProcessManyAsync_SeveralCallers_GetOnAlike(int workers)
    {
        // One thread for them all: of two, each with the items of other callers, one could be held up, and its callers with it.
        await using ParallelRuntime runtime = new(workers);
        const int Callers = 4;
        const int Each = 4000;
        int[] done = new int[Callers];
        int[]? othersAtFirstEnd = null;
        using RuntimeGate held = new();
        Task<ItemOutcome<int, int>[]> holding =
            workers == 1 ? Task.FromResult<ItemOutcome<int, int>[]>([]) : HoldAsync(runtime, RuntimeRun.Count(workers - 1), held);
        await held.ArrivedAsync(workers - 1);

        // They wait for the thread until all of them are there, or the first could be done before the last has come.
        using RuntimeGate go = new();
        Task<ItemOutcome<int, int>[]> before = HoldAsync(runtime, [0], go);
        await go.ArrivedAsync(1);
        Task<ItemOutcome<int, int>[]>[] calls =
            [.. RuntimeRun.Count(Callers).Select(caller => runtime.ProcessManyAsync(RuntimeRun.Count(Each), (x, _) =>
        {
            Thread.SpinWait(400);
            if (Interlocked.Increment(ref done[caller]) == Each)
            {
                Interlocked.CompareExchange(ref othersAtFirstEnd, [.. done], null);
            }

            return new ValueTask<int>(x);
        }))];
        go.Open();
        await Task.WhenAll([before, .. calls]);
        held.Open();
        await holding;
        Assert.Equal(Callers, done.Count(static d => d == Each));

        // When the first was done, nobody had been left behind: each had had a good part of its own.
        Assert.All(othersAtFirstEnd!, static d => Assert.InRange(d, Each / 10, Each));
    }

    private static Task<ItemOutcome<int, int>[]> HoldAsync(IExecutionRuntime runtime, int[] items, RuntimeGate gate) =>
        runtime.ProcessManyAsync(items, (x, _) => new ValueTask<int>(gate.Block(x)));

    [Theory(Timeout = 90_000)]
    [InlineData(2)]
    [InlineData(4)]
    public async Task ProcessManyAsync_OneItemBlocksAmongQuickOnes_StallsNoOther(int workers)
    {
        await using ParallelRuntime runtime = new(workers);
        await ConcurrentRuntimeTests.AssertStallsNoOtherAsync(runtime);
    }
}
