using System.Collections.Concurrent;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Operators.Control;

/// <summary>A source that grows while it is worked on: it ends by itself, whatever becomes of its items, and loses none.</summary>
public sealed class WorkQueueTests
{
    private const int Nodes = 200;

    public static MatrixTheoryData<OperatorFamily, int, WorkQueueOrder> Grid { get; } =
        new(Cases.Families, [1, 2, 16], [WorkQueueOrder.OldestFirst, WorkQueueOrder.NewestFirst]);

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Grid))]
    public async Task Queue_ThatItsItemsFill_EndsWhenAllAreDone(OperatorFamily family, int limit, WorkQueueOrder order)
    {
        WorkQueue<int> queue = new(Nodes, order);
        queue.Add(0);
        List<int> results = await RunAsync(
            family,
            queue,
            async (item, _) =>
            {
                queue.AddChildren(item, Nodes);
                if (item % 3 == 0)
                {
                    await Task.Yield();
                }

                return item;
            },
            new ParallelRunOptions { MaxDegreeOfParallelism = limit }).WithinAsync();
        Assert.Equal(Enumerable.Range(0, Nodes), results.Order());
        queue.AssertEnded();
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Cases.AnyFamily), MemberType = typeof(Cases))]
    public async Task Items_ThatFailOrAreRetried_CountOnce(OperatorFamily family)
    {
        WorkQueue<int> queue = WorkTree.Begun();
        ConcurrentDictionary<int, int> attempts = [];
        List<int> results = await RunAsync(
            family,
            queue,
            async (item, token) =>
            {
                int attempt = attempts.AddOrUpdate(item, 1, static (_, count) => count + 1);
                if (attempt == 1)
                {
                    queue.AddChildren(item, Nodes);
                }

                await Task.Yield();
                return (item % 5) switch
                {
                    1 when attempt == 1 => throw new TimeoutException(),
                    2 => throw new TestException("for good"),
                    _ => item,
                };
            },
            new ParallelRunOptions { MaxDegreeOfParallelism = 4, MaxRetries = 1, BaseDelay = TimeSpan.Zero, ErrorMode = ErrorMode.BestEffort }).WithinAsync();
        Assert.Equal(Enumerable.Range(0, Nodes).Where(static item => item % 5 != 2), results.Order());
        Assert.All(attempts, static pair => Assert.Equal(pair.Key % 5 == 1 ? 2 : 1, pair.Value));
        queue.AssertEnded();
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Cases.AnyFamily), MemberType = typeof(Cases))]
    public async Task Item_ThatIgnoresItsTimeLimit_CountsAsEnded(OperatorFamily family)
    {
        ManualTimeProvider time = new();
        using Gate never = new();
        WorkQueue<int> queue = new();
        queue.AddRange([0, 1]);
        int called = 0;
        Task<List<int>> run = RunAsync(
            family,
            queue,
            async (item, _) =>
            {
                if (item == 1)
                {
                    Volatile.Write(ref called, 1);
                    await never.WaitAsync(CancellationToken.None);
                }

                return item;
            },
            new ParallelRunOptions
            {
                ErrorMode = ErrorMode.BestEffort,
                PerItemTimeout = TimeSpan.FromMinutes(1),
                TimeProvider = time,
                MaxDegreeOfParallelism = 2,
            });
        await Guard.UntilAsync(() => queue is { Count: 0, Running: 1 } && Volatile.Read(ref called) == 1, "the end of the first item");
        await time.AdvanceUntilAsync(run, TimeSpan.FromMinutes(1));
        Assert.Equal([0], await run.WithinAsync());
        queue.AssertEnded();
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Cases.AnyFamily), MemberType = typeof(Cases))]
    public async Task Queue_WithKeysAndLanes_TakesEachKeyOnce(OperatorFamily family)
    {
        WorkQueue<int> queue = WorkQueue.DistinctBy<int, int>(static item => item % Nodes, comparer: new ThreeHashes());
        Assert.True(queue.Add(0));
        Assert.False(queue.Add(Nodes));
        Func<int, CancellationToken, ValueTask<int>> call = (item, _) =>
        {
            foreach (int child in new[] { item + 1, item + 7, item + 1 })
            {
                queue.Add(child);
            }

            return new(item);
        };
        List<int> all = family == OperatorFamily.List
            ? await queue.PartitionBy(static item => item % 4).SelectParallelAsync(call, new ParallelRunOptions { MaxDegreeOfParallelism = 8 }).WithinAsync()
            : await RunAsync(family, queue, call, new ParallelRunOptions { MaxDegreeOfParallelism = 8 }).WithinAsync();
        Assert.Equal(Enumerable.Range(0, Nodes), all.Select(static item => item % Nodes).Order());
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Order_DecidesWhichItemIsNext()
    {
        foreach ((WorkQueueOrder order, int[] expected) in new[]
        {
            (WorkQueueOrder.OldestFirst, new[] { 0, 1, 2, 3, 4, 5, 6 }),
            (WorkQueueOrder.NewestFirst, [0, 2, 6, 5, 1, 4, 3]),
        })
        {
            WorkQueue<int> queue = new(100, order);
            queue.Add(0);
            List<int> begun = [];
            await queue.ForEachParallelAsync(
                (item, _) =>
                {
                    begun.Add(item);
                    queue.AddChildren(item, 7);
                    return default;
                },
                new ParallelRunOptions { MaxDegreeOfParallelism = 1 }).WithinAsync();
            Assert.Equal(expected, begun);
        }
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Queue_ThatIsFull_RefusesAnItemWithOneSentence()
    {
        WorkQueue<int> queue = new(2);
        Assert.Equal(2, queue.AddRange([1, 2]));
        Assert.False(queue.TryAdd(3));
        InvalidOperationException full = Assert.Throws<InvalidOperationException>(() => queue.Add(3));
        Assert.Equal("The queue already has 2 items, which is its Capacity.", full.Message);
        Assert.Equal([1, 2], (await queue.SelectParallelAsync(Selectors.Twice).WithinAsync()).Select(static x => x / 2).Order());
        Assert.False(queue.TryAdd(3));
        Assert.Throws<InvalidOperationException>(() => queue.Add(3));
        Assert.Throws<InvalidOperationException>(() => queue.KeepOpen());

        WorkQueue<int> keyed = WorkQueue.DistinctBy<int, int>(static x => x, maxKeys: 2);
        Assert.Equal(2, keyed.AddRange([1, 1, 2, 2]));
        Assert.Equal("The queue already remembers as many keys as its maxKeys.", Assert.Throws<InvalidOperationException>(() => keyed.Add(3)).Message);
        Assert.False(keyed.Add(1));

        WorkQueue<string> named = WorkQueue.DistinctBy<string, string>(static _ => null!);
        Assert.Throws<InvalidOperationException>(() => named.Add("x"));
        Assert.Equal(0, named.Count);
    }

    [Fact]
    public void Arguments_OutOfRange_AreRefusedAtTheCall()
    {
        Assert.Throws<ArgumentOutOfRangeException>("capacity", static () => new WorkQueue<int>(0));
        Assert.Throws<ArgumentOutOfRangeException>("order", static () => new WorkQueue<int>(1, (WorkQueueOrder)7));
        Assert.Throws<ArgumentOutOfRangeException>("maxKeys", static () => WorkQueue.DistinctBy<int, int>(static x => x, maxKeys: 0));
        Assert.Throws<ArgumentNullException>("keySelector", static () => WorkQueue.DistinctBy<int, int>(null!));
        Assert.Throws<ArgumentNullException>("items", static () => new WorkQueue<int>().AddRange(null!));
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Cases.AnyFamily), MemberType = typeof(Cases))]
    public async Task Queue_ThatIsKeptOpen_WaitsForItemsFromOutside(OperatorFamily family)
    {
        WorkQueue<int> queue = new();
        IDisposable open = queue.KeepOpen();
        Task<List<int>> run = RunAsync(family, queue, Selectors.Twice, new ParallelRunOptions { MaxDegreeOfParallelism = 2 });
        for (int i = 0; i < 5; i++)
        {
            queue.Add(i);
            await Guard.UntilAsync(() => queue is { Count: 0, Running: 0 }, "the item");
            Assert.False(run.IsCompleted);
        }

        open.Dispose();
        open.Dispose();
        Assert.Equal([0, 2, 4, 6, 8], (await run.WithinAsync()).Order());
    }

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(false, false)]
    [InlineData(true, false)]
    [InlineData(false, true)]
    public async Task Run_ThatStopsOrIsCancelled_LeavesWhatHasNotBegun(bool cancels, bool keyed)
    {
        WorkQueue<int> queue = new();
        queue.AddRange(Enumerable.Range(0, 50));
        RunControl control = new();
        using CancellationTokenSource cancel = new();
        ConcurrentQueue<int> begun = [];
        async ValueTask<int> CallAsync(int item, CancellationToken token)
        {
            begun.Enqueue(item);
            await Task.Yield();
            if (begun.Count >= 10)
            {
                if (cancels)
                {
                    await cancel.CancelAsync();
                }

                control.Stop();
            }

            return item;
        }

        ParallelRunOptions options = new() { MaxDegreeOfParallelism = 3, Control = control };
        Task<List<int>> first = keyed
            ? queue.PartitionBy(static item => item % 2).SelectParallelAsync(CallAsync, options, cancel.Token)
            : queue.SelectParallelAsync(CallAsync, options, cancel.Token);
        if (cancels)
        {
            await Assert.ThrowsAnyAsync<OperationCanceledException>(() => first.WithinAsync());
        }
        else
        {
            await first.WithinAsync();
        }

        Assert.Equal((50 - begun.Count, 0, false), (queue.Count, queue.Running, queue.IsCompleted));
        List<int> rest = await queue.SelectParallelAsync(static (x, _) => new ValueTask<int>(x)).WithinAsync();
        Assert.Equal(Enumerable.Range(0, 50), begun.Concat(rest).Order());
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Queue_ThatIsRead_IsRefusedToASecondReader()
    {
        WorkQueue<int> queue = new();
        using IDisposable open = queue.KeepOpen();
        using CancellationTokenSource cancel = new();
        queue.Add(1);
        using Gate gate = new();
        Task first = queue.ForEachParallelAsync(async (_, token) => await gate.WaitAsync(token), cancellationToken: cancel.Token);
        await Guard.UntilAsync(() => queue.Running == 1, "the first reader");
        InvalidOperationException refused =
            await Assert.ThrowsAsync<InvalidOperationException>(() => queue.SelectParallelAsync(Selectors.Twice).WithinAsync());
        Assert.Equal("The queue is already being read: one run at a time may read it.", refused.Message);
        await cancel.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => first.WithinAsync());
        Assert.Equal(0, queue.Running);
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Queue_ReadByHand_EndsWhenTheLastItemIsLeft()
    {
        WorkQueue<int> queue = WorkTree.Begun();
        List<int> read = [];
        await foreach (int item in queue)
        {
            read.Add(item);
            Assert.Equal(1, queue.Running);
            queue.AddChildren(item, Nodes);
        }

        Assert.Equal(Enumerable.Range(0, Nodes), read);
        Assert.True(queue.IsCompleted);
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Sequence_OfAQueue_IsTheQueueToOperatorsAndReadByHandToOthers()
    {
        foreach (int limit in new[] { 1, 8 })
        {
            WorkQueue<int> queue = WorkTree.Begun();
            List<int> results = await queue.AsEnumerable().SelectParallelAsync(
                async (item, _) =>
                {
                    await Task.Yield();
                    queue.AddChildren(item, Nodes);
                    return item;
                },
                new ParallelRunOptions { MaxDegreeOfParallelism = limit }).WithinAsync();
            Assert.Equal(Enumerable.Range(0, Nodes), results.Order());
            Assert.True(queue.IsCompleted);
        }

        WorkQueue<int> batched = WorkTree.Begun();
        List<int> sizes = await batched.AsEnumerable().BatchParallelAsync(
            8,
            async (batch, _) =>
            {
                await Task.Yield();
                foreach (int item in batch)
                {
                    batched.AddChildren(item, Nodes);
                }

                return batch.Count;
            }).WithinAsync();
        Assert.Equal(Nodes, sizes.Sum());

        WorkQueue<int> byHand = new();
        byHand.AddRange([0, 1]);
        Assert.Equal(0, byHand.AsEnumerable().First());
        Assert.Equal((1, 0, false), (byHand.Count, byHand.Running, byHand.IsCompleted));
        List<int> rest = [];
        foreach (int item in byHand.AsEnumerable())
        {
            Assert.Throws<InvalidOperationException>(() => byHand.AsEnumerable().First());
            Assert.Equal(1, byHand.Running);
            rest.Add(item);
            byHand.AddChildren(item, Nodes);
        }

        Assert.Equal((1, true), (rest[0], byHand.IsCompleted));
        Assert.Equal(rest.Count, rest.Distinct().Count());

        WorkQueue<int> open = new();
        IDisposable held = open.KeepOpen();
        Task<int[]> waiting = Task.Factory.StartNew(
            () => open.AsEnumerable().ToArray(), CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default);
        open.Add(5);
        await Guard.UntilAsync(() => open is { Count: 0, Running: 0 }, "the item");
        held.Dispose();
        int[] read = await waiting.WithinAsync();
        Assert.Equal([5], read);
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Batches_OfAQueue_AreWhatIsQueuedUpToTheirSize()
    {
        WorkQueue<int> queue = WorkTree.Begun();
        List<int> sizes = await queue.BatchParallelAsync(
            8,
            (batch, _) =>
            {
                foreach (int item in batch)
                {
                    queue.AddChildren(item, Nodes);
                }

                return new ValueTask<int>(batch.Count);
            },
            new ParallelRunOptions { MaxDegreeOfParallelism = 1 }).WithinAsync();
        Assert.Equal([1, 2, 4, 8], sizes.Take(4));
        Assert.Equal((Nodes, 8), (sizes.Sum(), sizes.Max()));
    }

    private static Task<List<int>> RunAsync(
        OperatorFamily family, WorkQueue<int> queue, Func<int, CancellationToken, ValueTask<int>> call, ParallelRunOptions options) =>
        family.RunAsync(TestSource.Over(queue), call, options);

    private sealed class ThreeHashes : IEqualityComparer<int>
    {
        public bool Equals(int x, int y) => x == y;

        public int GetHashCode(int obj) => obj % 3;
    }
}
