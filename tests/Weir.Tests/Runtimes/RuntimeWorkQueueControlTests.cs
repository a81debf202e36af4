using System.Collections.Concurrent;
using Weir.Runtimes;
using Weir.TestKit;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Runtimes;

/// <summary>A call over a queue of work that is cancelled, stopped, paused, limited, held open or left early.</summary>
public sealed class RuntimeWorkQueueControlTests
{
    private const int Items = 200;

    public enum Ending
    {
        Cancel,
        Stop,
        Leave,
        Dispose,
    }

    /// <summary>Only a stream can be left.</summary>
    public static TheoryData<string, RunForm, Ending, bool> Endings() =>
    [
        .. from row in RuntimeCases.EveryForm()
           from ending in Enum.GetValues<Ending>()
           from keyed in new[] { false, true }
           where ending != Ending.Leave || row.Data.Item2 != RunForm.Array
           select new TheoryDataRow<string, RunForm, Ending, bool>(row.Data.Item1, row.Data.Item2, ending, keyed),
    ];

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Endings))]
    public async Task Call_ThatEndsEarly_LeavesWhatHasNotBegun(string name, RunForm form, Ending ending, bool keyed)
    {
        ManualTimeProvider time = new();
        RunControl control = new();
        using CancellationTokenSource cancel = new();
        WorkQueue<int> queue = new();
        queue.AddRange(RuntimeRun.Count(Items / 2));
        ConcurrentQueue<int> begun = [];
        int held = 0;
        using Gate never = new();
        IExecutionRuntime runtime = RuntimeCases.Create(name, time, TimeSpan.FromSeconds(1));
        async ValueTask<int> CallAsync(int item, CancellationToken token)
        {
            begun.Enqueue(item);
            queue.Add(item + (Items / 2));
            await Task.Yield();
            if (begun.Count >= 10)
            {
                switch (ending)
                {
                    case Ending.Cancel:
                        await cancel.CancelAsync();
                        break;
                    case Ending.Stop:
                        control.Stop();
                        break;
                    case Ending.Dispose:
                        // Until the call is given up, so that it cannot end by itself before.
                        Interlocked.Increment(ref held);
                        await never.WaitAsync(token);
                        break;
                }
            }

            return item;
        }

        Task<ItemOutcome<int, int>[]> call = QueueRun.Start(
            form, runtime, queue, CallAsync, new ProcessManyOptions { Control = control }, keyed, ending == Ending.Leave ? 5 : int.MaxValue, cancel.Token);
        if (ending == Ending.Dispose)
        {
            // All that may be: an item that is given up in the middle of its call would still add another one, to the queue or to the books, after the count.
            int most = keyed ? Math.Min(3, RuntimeCases.LimitOf(name)) : RuntimeCases.LimitOf(name);
            await Guard.UntilAsync(() => Volatile.Read(ref held) == most, "the items");
            Task disposed = runtime.DisposeAsync().AsTask();
            await Guard.UntilAsync(() => time.ArmedTimers > 0, "the grace period");
            await time.AdvanceUntilAsync(disposed, TimeSpan.FromSeconds(1));
        }

        await call.EndsAsync();
        Assert.Equal(ending == Ending.Cancel ? TaskStatus.Canceled : TaskStatus.RanToCompletion, call.Status);
        int added = queue.Count + begun.Count;
        Assert.Equal((0, false), (queue.Running, queue.IsCompleted));
        Assert.True(queue.Count > 0);
        await using IExecutionRuntime other = RuntimeCases.Create(name);
        ItemOutcome<int, int>[] rest = await QueueRun.Start(form, other, queue, (item, _) =>
        {
            begun.Enqueue(item);
            return new(item);
        }).WithinAsync();
        Assert.Equal(0, rest.NotRun());
        queue.AssertEnded();
        Assert.Equal((added, added), (begun.Count, begun.Distinct().Count()));
        await runtime.DisposeAsync();
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public async Task Queue_ThatIsKeptOpen_WaitsForItemsFromOutside(string name, RunForm form)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        foreach (bool keyed in new[] { false, true })
        {
            WorkQueue<int> queue = new();
            IDisposable open = queue.KeepOpen();
            int onThePool = 0;
            Task<ItemOutcome<int, int>[]> call = QueueRun.Start(
                form,
                runtime,
                queue,
                (item, _) =>
                {
                    onThePool += Thread.CurrentThread.IsThreadPoolThread ? 1 : 0;
                    return new(item);
                },
                keyed: keyed);
            for (int i = 0; i < 20; i++)
            {
                queue.Add(i);
                await Guard.UntilAsync(() => queue is { Count: 0, Running: 0 }, "the item");
                Assert.False(call.IsCompleted);
            }

            open.Dispose();
            Assert.Equal(Enumerable.Range(0, 20), (await call.WithinAsync()).Values());
            Assert.True(!name.StartsWith("parallel", StringComparison.Ordinal) || onThePool == 0, "The threads are the runtime's own.");
            queue.AssertEnded();
        }
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public async Task Call_ThatOnlyWaits_CanBeEnded(string name, RunForm form)
    {
        foreach (Ending ending in new[] { Ending.Cancel, Ending.Stop, Ending.Dispose, Ending.Leave })
        {
            foreach (bool keyed in new[] { false, true })
            {
                ManualTimeProvider time = new();
                IExecutionRuntime runtime = RuntimeCases.Create(name, time, TimeSpan.FromSeconds(1));
                RunControl control = new();
                using CancellationTokenSource cancel = new();
                WorkQueue<int> queue = new();
                using IDisposable open = queue.KeepOpen();
                queue.Add(0);
                int called = 0;
                TimeSpan? limit = ending == Ending.Leave ? TimeSpan.FromSeconds(1) : null;
                Task<ItemOutcome<int, int>[]> call = QueueRun.Start(
                    form,
                    runtime,
                    queue,
                    (item, _) =>
                    {
                        Interlocked.Increment(ref called);
                        return new(item);
                    },
                    new ProcessManyOptions { Control = control, TotalTimeout = limit },
                    keyed,
                    cancellationToken: cancel.Token);
                await Guard.UntilAsync(() => Volatile.Read(ref called) == 1 && queue is { Count: 0, Running: 0 }, "the only item");
                switch (ending)
                {
                    case Ending.Cancel:
                        await cancel.CancelAsync();
                        break;
                    case Ending.Stop:
                        control.Stop();
                        break;
                    case Ending.Leave:
                        await time.AdvanceUntilAsync(call, TimeSpan.FromSeconds(1));
                        break;
                    default:
                        Task disposed = runtime.DisposeAsync().AsTask();
                        await time.AdvanceUntilAsync(disposed, TimeSpan.FromSeconds(1));
                        break;
                }

                await call.EndsAsync($"the call, at {ending}");
                Assert.Equal(ending == Ending.Cancel ? TaskStatus.Canceled : TaskStatus.RanToCompletion, call.Status);
                Assert.Equal((0, 0, false), (queue.Count, queue.Running, queue.IsCompleted));
                Assert.True(ending == Ending.Cancel || (await call).Values().SequenceEqual([0]));
                await runtime.DisposeAsync();
            }
        }
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public async Task Call_ThatIsPaused_BeginsNothingThatIsAddedMeanwhile(string name, RunForm form)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        RunControl control = new();
        WorkQueue<int> queue = new();
        IDisposable open = queue.KeepOpen();
        queue.Add(0);
        ConcurrentQueue<int> begun = [];
        Task<ItemOutcome<int, int>[]> call = QueueRun.Start(
            form,
            runtime,
            queue,
            (item, _) =>
            {
                begun.Enqueue(item);
                return new(item);
            },
            new ProcessManyOptions { Control = control });
        await Guard.UntilAsync(() => begun.Count == 1 && queue.Running == 0, "the first item");
        control.Pause();
        queue.AddRange(Enumerable.Range(1, 30));
        await Guard.SettleAsync();
        Assert.Single(begun);
        control.Resume();
        await Guard.UntilAsync(() => begun.Count == 31, "the others");
        open.Dispose();
        Assert.Equal(Enumerable.Range(0, 31), (await call.WithinAsync()).Values());
        queue.AssertEnded();
    }

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData("concurrent 3")]
    [InlineData("parallel 3")]
    [InlineData("auto 3")]
    public async Task Limit_LoweredWhileTheReaderWaits_LeavesAPlaceForItemsOfAKey(string name)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        RunControl control = new();
        WorkQueue<int> queue = new();
        IDisposable open = queue.KeepOpen();
        using Gate gate = new();
        queue.AddRange([0, 3, 6]);
        ConcurrentQueue<int> begun = [];
        Task<ItemOutcome<int, int>[]> call = QueueRun.Start(
            RunForm.Array,
            runtime,
            queue,
            async (item, _) =>
            {
                begun.Enqueue(item);
                await gate.WaitAsync(CancellationToken.None);
                return item;
            },
            new ProcessManyOptions { Control = control },
            keyed: true);
        await Guard.UntilAsync(() => begun.Count == 1 && queue is { Count: 0, Running: 3 }, "the items behind the first one");
        control.MaxDegreeOfParallelism = 1;
        await Guard.SettleAsync();
        gate.Open();
        await Guard.UntilAsync(() => queue.Running == 0, "the items of the key");
        Assert.Equal([0, 3, 6], begun);
        open.Dispose();
        Assert.Equal([0, 3, 6], (await call.WithinAsync()).Values());
        queue.AssertEnded();
    }
}
