using System.Collections.Concurrent;
using System.Runtime.CompilerServices;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Operators.Contracts;

/// <summary>Does PerItemTimeout bound each item, whatever the item does about it?</summary>
public class ItemTimeoutTests
{
    private static readonly TimeSpan Limit = TimeSpan.FromMinutes(1);

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Cases.AllThrowing))]
    public async Task Timeout_OfAnItemThatHeedsItsToken_LooksLikeHttpClients(OperatorFamily family, SourceKind kind) =>
        await AssertOneTimesOutAsync(
            family,
            kind,
            static async (_, token) => await Task.Delay(System.Threading.Timeout.InfiniteTimeSpan, TimeProvider.System, token));

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Cases.AllThrowing))]
    public async Task Timeout_OfAnItemThatIgnoresItsToken_LetsTheOthersGoOn(OperatorFamily family, SourceKind kind) =>
        await AssertOneTimesOutAsync(family, kind, static async (gate, _) => await gate.WaitAsync());

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Cases.AllThrowing))]
    public async Task Timeout_OfAnItemThatBlocksItsThread_LetsTheOthersGoOn(OperatorFamily family, SourceKind kind) =>
        await AssertOneTimesOutAsync(
            family,
            kind,
            static (gate, _) =>
            {
                gate.Wait();
                return default;
            });

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Cases.AnyThrowing), MemberType = typeof(Cases))]
    public async Task Timeout_UnderFailFast_IsThrownWhileTheItemStillBlocks(OperatorFamily family)
    {
        ManualTimeProvider clock = new();
        using Gate gate = new();
        ConcurrencyProbe probe = new();
        Task<List<int>> running = family.RunAsync(
            TestSource.Of(SourceKind.Array, 3),
            (item, _) => probe.Block(item, gate),
            new() { MaxDegreeOfParallelism = 1, PerItemTimeout = Limit, TimeProvider = clock });
        await probe.InsideAsync(1);
        await clock.AdvanceUntilAsync(running, Limit);
        AssertTimeout(await Assert.ThrowsAnyAsync<OperationCanceledException>(() => running.WithinAsync()));
        Assert.Equal(1, probe.Inside);
        Assert.Equal(1, probe.Entered);
        Assert.Equal(0, clock.LiveTimers);
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Cases.AnyThrowing), MemberType = typeof(Cases))]
    public async Task Timeout_BeforeItsTime_DoesNotHappen(OperatorFamily family)
    {
        ManualTimeProvider clock = new();
        using Gate gate = new();
        ConcurrencyProbe probe = new();
        Task<List<int>> running = family.RunAsync(
            TestSource.Of(SourceKind.Array, 4),
            (item, token) => probe.StayAsync(item, gate, token),
            new() { MaxDegreeOfParallelism = 4, PerItemTimeout = Limit, TimeProvider = clock });
        await probe.InsideAsync(4);
        clock.Advance(Limit - TimeSpan.FromTicks(1));
        await Guard.SettleAsync();
        Assert.Equal(4, probe.Inside);
        gate.Open();
        Assert.Equal(4, (await running.WithinAsync()).Count);
        Assert.Equal(0, clock.LiveTimers);
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Cases.AnyThrowing), MemberType = typeof(Cases))]
    public async Task Timeout_IsPerItem_NotForTheRun(OperatorFamily family)
    {
        ManualTimeProvider clock = new();
        List<int> results = await family.RunAsync(
            TestSource.Of(SourceKind.Lazy, 50),
            (item, _) =>
            {
                clock.Advance(Limit * 0.9);
                return new(item);
            },
            new() { MaxDegreeOfParallelism = 1, PerItemTimeout = Limit, TimeProvider = clock }).WithinAsync();
        Assert.Equal(50, results.Count);
        Assert.Equal(0, clock.LiveTimers);
    }

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Cases.AllThrowing))]
    public async Task Timeout_OfTheOnlyWorkersItem_LetsTheRestRun(OperatorFamily family, SourceKind kind)
    {
        ManualTimeProvider clock = new();
        using Gate gate = new();
        ConcurrencyProbe probe = new();
        TestSource source = TestSource.Of(kind, 300);
        Task<List<int>> running = family.RunAsync(
            source,
            (item, _) =>
            {
                if (item == 60)
                {
                    using (probe.Enter())
                    {
                        gate.Wait();
                    }
                }

                return new(item);
            },
            new() { MaxDegreeOfParallelism = 1, PerItemTimeout = Limit, TimeProvider = clock, ErrorMode = ErrorMode.BestEffort });
        await probe.InsideAsync(1);
        await clock.AdvanceUntilAsync(running, Limit);
        List<int> results = await running.WithinAsync();
        Assert.Equal(Enumerable.Range(0, 300).Where(static i => i != 60), results.Order());
        Assert.Equal(0, clock.LiveTimers);
        source.AssertUsedWell();
    }

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Timeout_StrayWork_IsObservedAndDropped(bool throws)
    {
        List<Exception> unobserved = [];
        EventHandler<UnobservedTaskExceptionEventArgs> note = (_, e) =>
        {
            lock (unobserved)
            {
                // Those of the whole process come here: other tests have stray work of other exceptions.
                unobserved.AddRange(e.Exception.InnerExceptions.Where(static x => x is TestException { Message: "stray" }));
            }
        };
        TaskScheduler.UnobservedTaskException += note;
        try
        {
            await RunStrayAsync(throws);
            for (int i = 0; i < 5; i++)
            {
                GC.Collect();
                GC.WaitForPendingFinalizers();
            }

            lock (unobserved)
            {
                Assert.Empty(unobserved);
            }
        }
        finally
        {
            TaskScheduler.UnobservedTaskException -= note;
        }
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Timeout_OfManyItemsInAnOpenStream_KeepsNoneOfThem()
    {
        ManualTimeProvider clock = new();
        ConcurrentQueue<WeakReference> items = [];
        int started = 0;
        Func<object, CancellationToken, ValueTask<int>> selector = async (item, token) =>
        {
            Interlocked.Increment(ref started);
            await Task.Delay(System.Threading.Timeout.InfiniteTimeSpan, TimeProvider.System, token);
            return item.GetHashCode();
        };
        IAsyncEnumerator<int> stream = Objects(items).SelectParallelStreamAsync(
            selector,
            new() { MaxDegreeOfParallelism = 4, PerItemTimeout = Limit, TimeProvider = clock, ErrorMode = ErrorMode.BestEffort }).GetAsyncEnumerator();
        Task<bool> step = stream.MoveNextAsync().AsTask();
        for (int round = 1; round <= 20; round++)
        {
            int least = round * 4;
            await Guard.UntilAsync(() => Volatile.Read(ref started) >= least, "the next items");
            clock.Advance(Limit);
        }

        await Guard.UntilAsync(() => Volatile.Read(ref started) >= 84, "the items after");
        await Leak.GoneAsync([.. items.Take(70)], "items that timed out long ago");
        await stream.DisposeAsync().WithinAsync();
        await step.EndsAsync();

        static IEnumerable<object> Objects(ConcurrentQueue<WeakReference> made)
        {
            while (true)
            {
                yield return Make(made);
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static object Make(ConcurrentQueue<WeakReference> made)
        {
            object item = new();
            made.Enqueue(new WeakReference(item));
            return item;
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static async Task RunStrayAsync(bool throws)
    {
        ManualTimeProvider clock = new();
        using Gate gate = new();
        ConcurrencyProbe probe = new();
        ConcurrentQueue<Task<int>> calls = [];
        Task<List<int>> running = TestSource.Of(SourceKind.Array, 2).ListAsync(
            (item, _) =>
            {
                Task<int> call = CallAsync(item);
                calls.Enqueue(call);
                return new ValueTask<int>(call);
            },
            new() { MaxDegreeOfParallelism = 2, PerItemTimeout = Limit, TimeProvider = clock, ErrorMode = ErrorMode.BestEffort },
            default);
        await probe.InsideAsync(2);
        await clock.AdvanceUntilAsync(running, Limit);
        Assert.Empty(await running.WithinAsync());
        gate.Open();

        // Until they have failed, and not only left: nobody would have anything to observe.
        await Guard.UntilAsync(() => calls.Count == 2 && calls.All(static call => call.IsCompleted), "the end of the stray calls");
        calls.Clear();
        await Guard.SettleAsync();
        Assert.Empty(await running);

        async Task<int> CallAsync(int item)
        {
            using (probe.Enter())
            {
                await gate.WaitAsync();
                return throws ? throw new TestException("stray") : item + 100;
            }
        }
    }

    private static async Task AssertOneTimesOutAsync(OperatorFamily family, SourceKind kind, Func<Gate, CancellationToken, ValueTask> stuck)
    {
        ManualTimeProvider clock = new();
        using Gate gate = new();
        ConcurrencyProbe probe = new();
        using Gate inside = new();
        int done = 0;
        int hooks = 0;
        TestSource source = TestSource.Of(kind, 30);
        Task<List<int>> running = family.RunAsync(
            source,
            async (item, token) =>
            {
                if (item == 0)
                {
                    using (probe.Enter())
                    {
                        inside.Open();
                        await stuck(gate, token);
                        return item;
                    }
                }

                if (Interlocked.Increment(ref done) == 1)
                {
                    // The others, which the second worker runs one by one after this, have more time left: one that is held up is not out of time.
                    await inside.WaitAsync();
                    clock.Advance(Limit / 2);
                }

                return item;
            },
            new()
            {
                MaxDegreeOfParallelism = 2,
                PerItemTimeout = Limit,
                TimeProvider = clock,
                ErrorMode = ErrorMode.CollectAndContinue,
                OnErrorAsync = (_, _) => new(Interlocked.Increment(ref hooks) > 0),
            });
        await probe.InsideAsync(1);
        await Guard.UntilAsync(() => Volatile.Read(ref done) == 29, "the end of the other items");
        await clock.AdvanceUntilAsync(running, Limit / 2);
        ItemsFailedException e = await Assert.ThrowsAnyAsync<ItemsFailedException>(() => running.WithinAsync());
        ItemFailure failure = Assert.Single(e.Failures);
        Assert.Equal(0, failure.Index);
        AssertTimeout(failure.Error);
        Assert.Equal(1, hooks);
        Assert.Equal(0, clock.LiveTimers);
        Assert.Equal(29, (e as ItemsFailedException<int>)?.Results.Count ?? 29);
        source.AssertUsedWell();
        gate.Open();
        await probe.InsideAsync(0);
    }

    private static void AssertTimeout(Exception error)
    {
        Assert.IsAssignableFrom<OperationCanceledException>(error);
        Assert.Equal(TimeSpan.FromMinutes(1), Assert.IsType<ItemTimeoutException>(error.InnerException).Limit);
        Assert.Contains("00:01:00", error.Message, StringComparison.Ordinal);
    }
}
