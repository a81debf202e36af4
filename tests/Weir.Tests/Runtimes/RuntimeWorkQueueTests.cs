using System.Collections.Concurrent;
using Weir.Resilience;
using Weir.Runtimes;
using Weir.TestKit;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Runtimes;

/// <summary>Every runtime takes a queue that grows while it is worked on. It ends by itself, whatever becomes of the items, and loses none.</summary>
public sealed class RuntimeWorkQueueTests
{
    private const int Nodes = 60;
    private static readonly TimeSpan Limit = TimeSpan.FromSeconds(10);

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public async Task Queue_ThatItsItemsFill_GivesAnOutcomeForEachItemOnce(string name, RunForm form)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        foreach (QueueDeed deed in Enum.GetValues<QueueDeed>())
        {
            foreach ((int children, bool keyed) in new[] { (0, false), (1, false), (2, false), (9, false), (1, true), (2, true) })
            {
                WorkQueue<int> queue = WorkTree.Begun();
                ConcurrentQueue<int> begun = [];
                int expected = children == 0 ? 1 : Nodes;
                ItemOutcome<int, int>[] outcomes = await QueueRun.Start(
                    form,
                    runtime,
                    queue,
                    (item, _) =>
                    {
                        begun.Enqueue(item);
                        return QueueDeeds.RunAsync(deed, item, () => queue.AddChildren(item, Nodes, children));
                    },
                    keyed: keyed).WithinAsync($"{deed} with {children} children");
                begun.AssertOnce(expected);
                Assert.Equal(expected, outcomes.Length);
                Assert.Equal(Enumerable.Range(0, expected).Where(x => !QueueDeeds.Fails(deed, x)), outcomes.Values());
                Assert.Equal(0, outcomes.NotRun());
                queue.AssertEnded();
            }
        }

        Assert.Equal((0, 0), (runtime.Statistics.ActiveCalls, runtime.Statistics.InFlight));
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public Task Item_ThatSuspendsBeyondItsTimeLimit_CountsAsEndedAndTheCallGoesOn(string name, RunForm form) => GiveUpAsync(name, form, blocks: false);

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(RuntimeCases.DetachedForm), MemberType = typeof(RuntimeCases))]
    public Task Item_ThatBlocksBeyondItsTimeLimit_CountsAsEndedAndTheCallGoesOn(string name, RunForm form) => GiveUpAsync(name, form, blocks: true);

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public async Task Call_WithATimeLimit_LeavesWhatHasNotBegun(string name, RunForm form)
    {
        ManualTimeProvider time = new();
        await using IExecutionRuntime runtime = RuntimeCases.Create(name, time);
        using Gate never = new();
        WorkQueue<int> queue = new();
        queue.AddRange(RuntimeRun.Count(300));
        ConcurrentQueue<int> begun = [];
        Task<ItemOutcome<int, int>[]> call = QueueRun.Start(
            form,
            runtime,
            queue,
            async (item, _) =>
            {
                begun.Enqueue(item);
                await never.WaitAsync(CancellationToken.None);
                return item;
            },
            new ProcessManyOptions { TotalTimeout = Limit });

        // All that may be: a call that is about to begin when the time is up is out of time before it is made.
        await Guard.UntilAsync(() => begun.Count >= RuntimeCases.LimitOf(name), "the items");
        await time.AdvanceUntilAsync(call, Limit);
        ItemOutcome<int, int>[] outcomes = await call.WithinAsync();
        Assert.Equal(begun.Count, outcomes.Count(static outcome => outcome.Status == ItemStatus.TimedOut));
        Assert.Equal(outcomes.Length, begun.Count + outcomes.NotRun());
        Assert.Equal((300 - begun.Count, 0, false), (queue.Count, queue.Running, queue.IsCompleted));
        await TakeRestAsync(runtime, queue, begun, 300);
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(RuntimeCases.Every), MemberType = typeof(RuntimeCases))]
    public async Task Item_ThatWaitsForItsNextAttempt_CountsAsRunning(string name)
    {
        ManualTimeProvider time = new();
        await using IExecutionRuntime runtime = RuntimeCases.Create(name, time);
        WorkQueue<int> queue = WorkTree.Begun();
        ConcurrentDictionary<int, int> attempts = [];
        Task<ItemOutcome<int, int>[]> call = QueueRun.Start(
            RunForm.Array,
            runtime,
            queue,
            (item, _) =>
            {
                int attempt = attempts.AddOrUpdate(item, 1, static (_, count) => count + 1);
                if (attempt == 1 && item == 0)
                {
                    throw new TimeoutException();
                }

                // Only the last attempt adds anything: a queue that had ended before would refuse it.
                queue.AddChildren(item, Nodes);
                return item % 5 == 4 ? throw new TestException("for good") : new(item);
            },
            new ProcessManyOptions { Policies = new() { MaxRetries = 1, BaseDelay = Limit, ErrorMode = ErrorMode.BestEffort } });
        await Guard.UntilAsync(() => time.ArmedTimers > 0 && attempts.ContainsKey(0), "the delay of the next attempt");
        await Guard.SettleAsync();
        Assert.Equal((0, 1, false, false), (queue.Count, queue.Running, queue.IsCompleted, call.IsCompleted));
        await time.AdvanceUntilAsync(call, 2 * Limit);
        ItemOutcome<int, int>[] outcomes = await call.WithinAsync();
        Assert.Equal(Enumerable.Range(0, Nodes).Where(static item => item % 5 != 4), outcomes.Values());
        Assert.Equal(Nodes, outcomes.Length);
        queue.AssertEnded();
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public async Task Items_RefusedByAnOpenCircuit_EndAndTheCallEnds(string name, RunForm form)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        WorkQueue<int> queue = new();
        queue.AddRange(RuntimeRun.Count(40));
        int called = 0;
        ItemOutcome<int, int>[] outcomes = await QueueRun.Start(
            form,
            runtime,
            queue,
            (_, _) =>
            {
                Interlocked.Increment(ref called);
                throw new TestException("item");
            },
            new ProcessManyOptions
            {
                Policies = new() { CircuitBreaker = new CircuitBreakerOptions { FailureThreshold = 1, OpenTimeout = TimeSpan.FromHours(1) } },
            }).WithinAsync();
        Assert.Equal(40, outcomes.Count(static outcome => outcome.Status == ItemStatus.Failed));
        Assert.InRange(called, 1, RuntimeCases.LimitOf(name));
        queue.AssertEnded();
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(RuntimeCases.Every), MemberType = typeof(RuntimeCases))]
    public async Task Calls_ThatShareALimit_AllEnd(string name)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name, new RuntimeOptions { TotalConcurrency = 1 });
        ConcurrencyProbe probe = new();
        WorkQueue<int>[] queues = [new(), new(), new()];
        Task<ItemOutcome<int, int>[]>[] calls =
        [
            .. queues.Select(queue =>
            {
                queue.Add(0);
                return QueueRun.Start(RunForm.Array, runtime, queue, async (item, _) =>
                {
                    using (probe.Enter())
                    {
                        queue.AddChildren(item, Nodes);
                        await Task.Yield();
                        return item;
                    }
                });
            }),
        ];
        Assert.All(await Task.WhenAll(calls).WithinAsync(), static outcomes => Assert.Equal(Enumerable.Range(0, Nodes), outcomes.Values()));
        Assert.Equal(1, probe.Most);
        Assert.All(queues, static queue => queue.AssertEnded());
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(RuntimeCases.Every), MemberType = typeof(RuntimeCases))]
    public async Task Queue_ThatIsRead_IsRefusedToASecondCall(string name)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        WorkQueue<int> queue = new();
        using IDisposable open = queue.KeepOpen();
        using Gate gate = new();
        queue.Add(1);
        Task<ItemOutcome<int, int>[]> first = QueueRun.Start(RunForm.Array, runtime, queue, async (item, token) =>
        {
            await gate.WaitAsync(token);
            return item;
        });
        await Guard.UntilAsync(() => queue.Running == 1, "the first reader");
        foreach (RunForm form in Enum.GetValues<RunForm>())
        {
            InvalidOperationException refused =
                await Assert.ThrowsAsync<InvalidOperationException>(() => QueueRun.Start(form, runtime, queue, Selectors.Twice).WithinAsync());
            Assert.Equal("The queue is already being read: one run at a time may read it.", refused.Message);
        }

        gate.Open();
        open.Dispose();
        Assert.Equal([1], (await first.WithinAsync()).Values());
        queue.AssertEnded();
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task AutoRuntime_TellsWhatItDecided()
    {
        await using AutoRuntime runtime = new();
        WorkQueue<int> queue = WorkTree.Begun();
        AutoResult<int, int> result = await runtime.ProcessManyWithDecisionsAsync(
            queue.AsEnumerable(),
            async (item, _) =>
            {
                queue.AddChildren(item, Nodes, 9);
                await Task.Yield();
                return item;
            }).WithinAsync();
        Assert.Equal(Enumerable.Range(0, Nodes), result.Outcomes.Values());
        Assert.NotEmpty(result.Decisions);
        queue.AssertEnded();
    }

    private static async Task GiveUpAsync(string name, RunForm form, bool blocks)
    {
        ManualTimeProvider time = new();
        await using IExecutionRuntime runtime = RuntimeCases.Create(name, time);
        using Gate never = new();
        WorkQueue<int> queue = WorkTree.Begun();
        ConcurrentQueue<int> begun = [];
        bool isStuck = false;
        Task<ItemOutcome<int, int>[]> call = QueueRun.Start(
            form,
            runtime,
            queue,
            async (item, _) =>
            {
                begun.Enqueue(item);
                if (item == 1)
                {
                    // Before it is stuck, so that the call has something left to do. If it were given up before that, the queue could end without them.
                    queue.AddChildren(item, Nodes);
                    Volatile.Write(ref isStuck, true);
                    if (blocks)
                    {
                        never.Wait(CancellationToken.None);
                    }

                    await never.WaitAsync(CancellationToken.None);
                }

                queue.AddChildren(item, Nodes);
                return item;
            },
            new ProcessManyOptions { PerItemTimeout = Limit });
        bool othersGoOn = RuntimeCases.LimitOf(name) > 1;
        await Guard.UntilAsync(() => Volatile.Read(ref isStuck) && (!othersGoOn || queue is { Count: 0, Running: 1 }), "the item that is stuck");
        Assert.False(call.IsCompleted);
        await time.PassAsync(Limit, call);
        ItemOutcome<int, int>[] outcomes = await call.WithinAsync();
        begun.AssertOnce(Nodes);
        queue.AssertEnded();
        Assert.Equal(Enumerable.Range(0, Nodes).Where(static item => item != 1), outcomes.Values());
        Assert.Equal((Nodes, 1), (outcomes.Length, outcomes.Count(static outcome => outcome.Status == ItemStatus.TimedOut)));
    }

    private static async Task TakeRestAsync(IExecutionRuntime runtime, WorkQueue<int> queue, ConcurrentQueue<int> begun, int count)
    {
        await QueueRun.Start(RunForm.Array, runtime, queue, (item, _) =>
        {
            begun.Enqueue(item);
            return new(item);
        }).WithinAsync();
        begun.AssertOnce(count);
        queue.AssertEnded();
    }
}
