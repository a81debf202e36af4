using Weir.Runtimes;
using Weir.TestKit;

namespace Weir.Tests.Runtimes;

/// <summary>What only an auto runtime promises: that it finds the right way by itself, and says why.</summary>
public class AutoRuntimeTests
{
    [Fact(Timeout = 90_000)]
    public async Task Decisions_ItemsWait_SayConcurrentAndClimb()
    {
        await using AutoRuntime runtime = new(100);
        using RuntimeGate gate = new();
        Task<AutoResult<int, int>> call = runtime.ProcessManyWithDecisionsAsync(RuntimeRun.Count(300), (x, _) => gate.PassAsync(x));
        await gate.ArrivedAsync(100);
        Assert.Equal(100, gate.Arrived);
        gate.Open();
        AutoResult<int, int> result = await call;
        Assert.Equal(RuntimeRun.Count(300), result.Outcomes.Select(static o => o.Value));
        AutoDecision first = result.Decisions[0];
        Assert.Equal((AutoMode.Probe, 25), (first.From, first.InFlight));

        // Or Blocking: a first call that loses its processor for two looks at it, before it suspends, looks like a blocked one.
        Assert.True(
            first.To == AutoMode.Concurrent ? first.Reason.Contains("100", StringComparison.Ordinal) : first.To == AutoMode.Blocking, $"{first}");
        Assert.Contains(result.Decisions, static d => d.InFlight == 100);
        Assert.Equal(result.Decisions, runtime.LastDecisions);
        Assert.All(result.Decisions, static d => Assert.Matches(@"^[\d.,]+ ms, [\d,]+ items: .+, threads \d+, in flight \d+: .+", d.ToString()));
    }

    [Fact(Timeout = 90_000)]
    public async Task Decisions_NoItemYet_AreNone()
    {
        await using AutoRuntime runtime = new();
        Assert.Empty(runtime.LastDecisions);
        AutoResult<int, int> result = await runtime.ProcessManyWithDecisionsAsync(Array.Empty<int>(), static (x, _) => new ValueTask<int>(x));
        Assert.Empty(result.Outcomes);
        Assert.Empty(result.Decisions);
    }

    [Theory(Timeout = 90_000)]
    [InlineData(2, 0)]
    [InlineData(8, 0)]
    [InlineData(40, 1000)]
    public async Task ProcessManyAsync_BlockingItems_GetThreadsUpToTheConcurrency(int concurrency, int quickItemsBefore)
    {
        // With more threads, it would come to the concurrency without the choice that is the matter here.
        await using AutoRuntime runtime = new(concurrency, maxThreads: 2);
        using RuntimeGate gate = new();
        Task<AutoResult<int, int>> call = runtime.ProcessManyWithDecisionsAsync(
            RuntimeRun.Count(quickItemsBefore + (2 * concurrency)), (x, _) => new ValueTask<int>(x < quickItemsBefore ? x : gate.Block(x)));
        await gate.ArrivedAsync(concurrency);
        Assert.Equal(concurrency, gate.Arrived);
        gate.Open();
        AutoResult<int, int> result = await call;
        Assert.Equal(RuntimeRun.Count(quickItemsBefore + (2 * concurrency)), result.Outcomes.Select(static o => o.Value));
        Assert.True(concurrency <= 2 || result.Decisions.Any(static d => d.To == AutoMode.Blocking), string.Join('\n', result.Decisions));
    }

    [Fact(Timeout = 90_000)]
    public async Task ProcessManyAsync_OneItemBlocksAmongQuickOnes_StallsNoOther()
    {
        await using AutoRuntime runtime = new(4);
        await ConcurrentRuntimeTests.AssertStallsNoOtherAsync(runtime);
    }

    [Fact(Timeout = 90_000)]
    public async Task ProcessManyAsync_ItemsTurnFromComputingToWaiting_FollowsThem()
    {
        await using AutoRuntime runtime = new(50);
        using RuntimeGate gate = new();
        Task<AutoResult<int, int>> call = runtime.ProcessManyWithDecisionsAsync(RuntimeRun.Count(20_200), (x, _) =>
        {
            Thread.SpinWait(20);
            return x < 20_000 ? new ValueTask<int>(x) : gate.PassAsync(x);
        });
        await gate.ArrivedAsync(50);
        gate.Open();
        AutoResult<int, int> result = await call;
        Assert.Equal(RuntimeRun.Count(20_200), result.Outcomes.Select(static o => o.Value));

        // To Blocking too: on a busy machine a call that lost the processor looks like a blocked one, and the gate may open before the next look corrects that.
        Assert.Contains(
            result.Decisions,
            static d => d.From is AutoMode.Parallel or AutoMode.Direct or AutoMode.Blocking
                && d.To is AutoMode.Mixed or AutoMode.Concurrent or AutoMode.Blocking && d.InFlight > 2);
    }

    [Fact(Timeout = 90_000)]
    public async Task ProcessManyAsync_SecondCallOfAProcessor_StartsWithWhatWasLearned()
    {
        await using AutoRuntime runtime = new(50);
        using RuntimeGate gate = new();
        Func<int, CancellationToken, ValueTask<int>> processor = (x, _) => gate.PassAsync(x);
        // No more than can be in flight: those that come after the gate is open would not wait, and would teach something else.
        Task<ItemOutcome<int, int>[]> first = runtime.ProcessManyAsync(RuntimeRun.Count(50), processor);
        await gate.ArrivedAsync(50);
        gate.Open();
        await first;
        AutoResult<int, int> second = await runtime.ProcessManyWithDecisionsAsync(RuntimeRun.Count(100), processor);
        Assert.Contains("as in an earlier call", second.Decisions[0].Reason, StringComparison.Ordinal);
        Assert.True(second.Decisions[0].To is AutoMode.Concurrent or AutoMode.Mixed, $"{second.Decisions[0]}");
        Assert.InRange(second.Decisions[0].InFlight, 25, 50);
    }

    [Fact(Timeout = 90_000)]
    public async Task ProcessManyAsync_ListChangedMeanwhile_EndsTheCall()
    {
        await using AutoRuntime runtime = new(1);
        using RuntimeGate gate = new();
        List<int> items = [.. RuntimeRun.Count(100)];
        Task<ItemOutcome<int, int>[]> call = runtime.ProcessManyAsync(items, (x, _) => gate.PassAsync(x));
        await gate.ArrivedAsync(1);
        items.RemoveRange(1, 99);
        gate.Open();
        await Assert.ThrowsAsync<InvalidOperationException>(() => call);
        Assert.True(await RuntimeRun.UntilAsync(() => runtime.Statistics is { ActiveCalls: 0, InFlight: 0 }));
    }

    [Fact(Timeout = 90_000)]
    public async Task ProcessManyAsync_CallerWithASynchronizationContext_NothingRunsOnItsThread()
    {
        await using AutoRuntime runtime = new();
        Thread caller = Thread.CurrentThread;
        int here = 0;
        for (int call = 0; call < 3; call++)
        {
            Task<ItemOutcome<int, int>[]> running = runtime.ProcessManyAsync(RuntimeRun.Count(1000), (x, _) =>
            {
                here += Thread.CurrentThread == caller ? 1 : 0;
                return new ValueTask<int>(x);
            });
            Assert.True(SpinWait.SpinUntil(() => running.IsCompleted, TimeSpan.FromSeconds(60)));
        }

        Assert.Equal(0, here);
    }

    [Fact(Timeout = 90_000)]
    public async Task Statistics_ThreadsStuckInGivenUpItems_AreReplaced()
    {
        ManualTimeProvider clock = new();

        // Four at once with two threads: some of them are on threads of the runtime's own, and not all on those of the pool, which nobody replaces.
        await using AutoRuntime runtime = new(4, maxThreads: 2, new RuntimeOptions { TimeProvider = clock });
        using RuntimeGate gate = new();
        Task<ItemOutcome<int, int>[]> call = runtime.ProcessManyAsync(
            RuntimeRun.Count(8), (x, _) => new ValueTask<int>(gate.Block(x)), new ProcessManyOptions { PerItemTimeout = TimeSpan.FromSeconds(5) });
        await gate.ArrivedAsync(4);
        await clock.PassAsync(TimeSpan.FromSeconds(5), gate.ArrivedAsync(8));
        await clock.PassAsync(TimeSpan.FromSeconds(5), call);
        Assert.All(await call, RuntimeRun.AssertTimedOut);
        Assert.True(runtime.Statistics.ReplacedThreads >= 1, $"{runtime.Statistics}");
        Assert.Equal(8, runtime.Statistics.AbandonedWorkers);
        gate.Open();
        ItemOutcome<int, int>[] again = await runtime.ProcessManyAsync(RuntimeRun.Count(100), static (x, _) => new ValueTask<int>(x));
        Assert.All(again, static o => Assert.True(o.IsSuccess));
    }
}
