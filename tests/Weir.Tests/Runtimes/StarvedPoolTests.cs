using Weir.Resilience;
using Weir.Runtimes;
using Weir.Tests.Operators.Budgets;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Runtimes;

/// <summary>Time limits hold while the items hold every thread of the pool, and so do what follows on them.</summary>
/// <remarks>Each test waits with its own thread, because no other is free; and opens the gate of its items only afterwards.</remarks>
[Collection(nameof(Alone))]
public sealed class StarvedPoolTests : IDisposable
{
    private static readonly TimeSpan Limit = TimeSpan.FromMilliseconds(100);

    private readonly StarvedPool _pool = new();
    private readonly Gate _gate = new();

    public static TheoryData<string> Runtimes() => ["concurrent", "auto", "parallel"];

    public void Dispose()
    {
        _gate.Dispose();
        _pool.Dispose();
    }

    [Theory]
    [MemberData(nameof(Runtimes))]
    public void ItemTimeout_ItemsHoldAllThreadsOfThePool_EndsEachOfThem(string name)
    {
        IExecutionRuntime runtime = Make(name, 4 * StarvedPool.Threads);
        Task<ItemOutcome<int, int>[]> run = runtime.ProcessManyAsync(new int[2 * StarvedPool.Threads], Block, new() { PerItemTimeout = Limit });

        Assert.All(StarvedPool.ResultOf(run), static outcome => Assert.Equal(ItemStatus.TimedOut, outcome.Status));
    }

    [Theory]
    [MemberData(nameof(Runtimes))]
    public void BatchTimeout_ItemsHoldAllThreadsOfThePool_EndsTheCall(string name)
    {
        IExecutionRuntime runtime = Make(name, 4 * StarvedPool.Threads);
        ItemOutcome<int, int>[] outcomes = [];

        // On a busy machine the time may be up before a thread has begun an item.
        for (int times = 1; times <= 100 && !outcomes.Any(static outcome => outcome.Status == ItemStatus.TimedOut); times *= 10)
        {
            Task<ItemOutcome<int, int>[]> run = runtime.ProcessManyAsync(new int[2 * StarvedPool.Threads], Block, new() { TotalTimeout = Limit * times });
            outcomes = StarvedPool.ResultOf(run);
            Assert.All(outcomes, static outcome => Assert.True(outcome.Status is ItemStatus.TimedOut or ItemStatus.NotRun));
        }

        Assert.Contains(outcomes, static outcome => outcome.Status == ItemStatus.TimedOut);
    }

    [Theory]
    [InlineData("concurrent")]
    [InlineData("auto")]
    public void BatchTimeout_NoThreadForTheFirstItem_EndsTheCall(string name)
    {
        // Each time another runtime: one that has learned that the items block has threads of its own.
        _pool.WithoutAny(() => StarvedPool.ResultOf(Make(name, 4).ProcessManyAsync(new int[4], Block, new() { TotalTimeout = Limit })), NoneBegan);
    }

    [Theory]
    [InlineData("concurrent")]
    [InlineData("auto")]
    public void Cancel_NoThreadForTheFirstItem_EndsTheCall(string name)
    {
        _pool.WithoutAny(
            () =>
            {
                int begun = 0;
                using CancellationTokenSource stop = new();
                Task<ItemOutcome<int, int>[]> run = Make(name, 4).ProcessManyAsync(
                    new int[4],
                    (item, token) =>
                    {
                        // On a thread that the pool had all the same. It must end, because a cancelled call waits for its items.
                        Interlocked.Increment(ref begun);
                        _gate.Wait(token);
                        return new ValueTask<int>(item);
                    },
                    null,
                    stop.Token);
                stop.Cancel();

                AggregateException error = Assert.Throws<AggregateException>(() => StarvedPool.ResultOf(run));
                Assert.IsType<TaskCanceledException>(error.InnerException);
                return begun;
            },
            static begun => begun == 0);
    }

    [Theory]
    [MemberData(nameof(Runtimes))]
    public void ItemTimeout_ItemsOfAQueueHoldAllThreadsOfThePool_EndsEachOfThemAndTheQueue(string name)
    {
        IExecutionRuntime runtime = Make(name, 4 * StarvedPool.Threads);
        WorkQueue<int> queue = WorkTree.Begun();
        Task<ItemOutcome<int, int>[]> run = runtime.ProcessManyAsync(
            queue.AsEnumerable(),
            (item, token) =>
            {
                queue.AddChildren(item, 2 * StarvedPool.Threads, children: 3);
                return Block(item, token);
            },
            new() { PerItemTimeout = Limit });

        ItemOutcome<int, int>[] outcomes = StarvedPool.ResultOf(run);
        Assert.All(outcomes, static outcome => Assert.Equal(ItemStatus.TimedOut, outcome.Status));
        Assert.Equal(2 * StarvedPool.Threads, outcomes.Length);
        queue.AssertEnded();
    }

    [Fact]
    public void ItemTimeout_DirectRuntimeWaitsForItemAndNoThreadIsFree_EndsTheItem()
    {
        TaskCompletionSource<int> never = new();
        DirectRuntime runtime = new();
        _pool.HoldAll();
        Task<ItemOutcome<int, int>[]> run = runtime.ProcessManyAsync(new int[3], (_, _) => new ValueTask<int>(never.Task), new() { PerItemTimeout = Limit });

        Assert.All(StarvedPool.ResultOf(run), static outcome => Assert.Equal(ItemStatus.TimedOut, outcome.Status));
    }

    [Fact]
    public void PerItemTimeout_ItemsHoldAllThreadsOfThePool_EndsEachOfThem()
    {
        ParallelRunOptions options = new() { MaxDegreeOfParallelism = 4 * StarvedPool.Threads, PerItemTimeout = Limit };
        Task<ItemOutcome<int, int>[]> run = new int[2 * StarvedPool.Threads].SelectParallelOutcomesAsync(Block, options);

        Assert.All(StarvedPool.ResultOf(run), static outcome => Assert.Equal(ItemStatus.TimedOut, outcome.Status));
    }

    [Theory]
    [InlineData("concurrent")]
    [InlineData("auto")]
    public void CallsThatBlock_MoreThanThePoolHasThreads_AreMadeAtOnce(string name)
    {
        using CountdownEvent begun = new(2 * StarvedPool.Threads);
        Task<ItemOutcome<int, int>[]> run = Make(name, 2 * StarvedPool.Threads).ProcessManyAsync(new int[4 * StarvedPool.Threads], (item, _) =>
        {
            // Each of the first waits for the last of them, so none ends before all have a thread.
            if (!begun.IsSet)
            {
                begun.Signal();
                begun.Wait(CancellationToken.None);
            }

            return new ValueTask<int>(item);
        });

        Assert.All(StarvedPool.ResultOf(run), static outcome => Assert.True(outcome.IsSuccess));
    }

    [Fact]
    public void AttemptTimeout_AttemptsHoldAllThreadsOfThePool_AreTriedAgain()
    {
        int calls = 0;
        ParallelRunOptions options = new()
        {
            MaxDegreeOfParallelism = 4 * StarvedPool.Threads,
            AttemptTimeout = Limit,

            // The second attempt is quick, but so is the limit, and the machine may be busy.
            MaxRetries = 20,
            BaseDelay = TimeSpan.FromMilliseconds(1),
        };
        Task<List<int>> run = Enumerable.Range(0, StarvedPool.Threads).ToArray().SelectParallelAsync(
            (item, _) =>
            {
                if (Interlocked.Increment(ref calls) <= StarvedPool.Threads)
                {
                    _gate.Wait();
                }

                return new ValueTask<int>(item);
            },
            options);

        Assert.Equal(Enumerable.Range(0, StarvedPool.Threads), StarvedPool.ResultOf(run));
    }

    [Fact]
    public void AttemptTimeout_InsidePoliciesAndNoThreadIsFree_EndsTheAttempt()
    {
        using CountdownEvent begun = new(2);
        TaskCompletionSource<int> never = new();
        ParallelRunOptions options = new()
        {
            MaxDegreeOfParallelism = 2, AttemptTimeout = TimeSpan.FromSeconds(1), CircuitBreaker = new CircuitBreakerOptions(),
        };
        Task<ItemOutcome<int, int>[]> run = new int[2].SelectParallelOutcomesAsync(
            (_, _) =>
            {
                begun.Signal();
                return new ValueTask<int>(never.Task);
            },
            options);
        Assert.True(begun.Wait(TimeSpan.FromSeconds(60)), "Both attempts begin.");
        _pool.HoldAll();

        Assert.All(StarvedPool.ResultOf(run), static outcome => Assert.IsType<Resilience.AttemptTimeoutException>(outcome.Error!.InnerException));
    }

    [Fact]
    public void Dispose_CallOutlivesTheGracePeriodAndNoThreadIsFree_EndsTheCall()
    {
        _pool.WithoutAny(
            () =>
            {
                ConcurrentRuntime runtime = new(4, new RuntimeOptions { GracePeriod = Limit });
                Task<ItemOutcome<int, int>[]> run = runtime.ProcessManyAsync(new int[4], Block);
                _ = runtime.DisposeAsync().AsTask();
                return StarvedPool.ResultOf(run);
            },
            NoneBegan);
    }

    private static bool NoneBegan(ItemOutcome<int, int>[] outcomes)
    {
        // Those that did begin were given up.
        Assert.All(outcomes, static outcome => Assert.False(outcome.IsSuccess));
        return outcomes.All(static outcome => outcome.Status == ItemStatus.NotRun);
    }

    private ValueTask<int> Block(int item, CancellationToken cancellationToken)
    {
        _gate.Wait(CancellationToken.None);
        return new ValueTask<int>(item);
    }

    private static IExecutionRuntime Make(string name, int concurrency) => name switch
    {
        "concurrent" => new ConcurrentRuntime(concurrency),
        "parallel" => new ParallelRuntime(StarvedPool.Threads),
        _ => new AutoRuntime(concurrency),
    };
}
