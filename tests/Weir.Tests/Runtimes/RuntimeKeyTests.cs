using System.Collections.Concurrent;
using Weir.Runtimes;
using Weir.TestKit;
using Weir.Tests.Operators.Support;
using Weir.Tests.Partitioned;

namespace Weir.Tests.Runtimes;

/// <summary>Items with keys: one at a time and in order within a key, whatever happens to any of them.</summary>
public class RuntimeKeyTests
{
    private const int Items = 2000;

    private static readonly string[] Several = ["concurrent 3", "concurrent 100", "parallel 2", "parallel 4", "auto 3", "auto 100"];

    public static TheoryData<string> SeveralAtOnce => [.. Several];

    public static MatrixTheoryData<string, RunForm> Forms { get; } = new(RuntimeCases.All, [RunForm.Array, RunForm.Stream]);

    public static MatrixTheoryData<string, RunForm> SeveralForms { get; } = new(Several, [RunForm.Array, RunForm.Stream]);

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.Every), MemberType = typeof(RuntimeCases))]
    public async Task KeySelector_ItemsOfAKey_RunOneAtATimeAndInOrder(string name)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        foreach (int keys in new[] { 1, 2, 7, 500 })
        {
            LaneProbe probe = new();
            ItemOutcome<int, int>[] outcomes = await runtime.ProcessManyAsync(
                RuntimeRun.Count(Items).PartitionBy(x => x % keys), (x, _) => probe.CallAsync(x, keys));
            Assert.Equal(RuntimeRun.Count(Items), outcomes.Select(static o => o.Value));
            probe.AssertInOrder(Items, keys);
        }

        runtime.AssertIdle(4 * Items, 0);
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.Every), MemberType = typeof(RuntimeCases))]
    public async Task KeySelector_ItemsOfAKeyAsAStream_RunOneAtATimeAndInOrder(string name)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        foreach ((int keys, bool ordered) in new[] { (1, false), (7, true), (7, false), (500, true) })
        {
            LaneProbe probe = new();
            IAsyncEnumerable<(int Index, ItemOutcome<int, int> Outcome)> stream = runtime.ProcessManyStreamAsync(
                RuntimeRun.Count(Items).PartitionBy(x => x % keys), (x, _) => probe.CallAsync(x, keys), ordered);

            // Nothing runs before the first step, and each enumeration is a run of its own.
            Assert.Empty(probe.Keys);
            for (int run = 0; run < 2; run++)
            {
                probe = new();
                List<(int Index, ItemOutcome<int, int> Outcome)> outcomes = await OperatorRunner.GatherAsync(stream);
                Assert.All(outcomes, static o => Assert.Equal(o.Index, o.Outcome.Value));
                IEnumerable<int> indices = outcomes.Select(static o => o.Index);
                Assert.Equal(RuntimeRun.Count(Items), ordered ? indices : indices.Order());
                probe.AssertInOrder(Items, keys);
            }
        }

        runtime.AssertIdle(4 * 2 * Items, 0);
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(SeveralForms))]
    public async Task KeySelector_HotKeyWaits_AllOtherKeysPassIt(string name, RunForm form)
    {
        // A stream reads no further than its window.
        int count = form == RunForm.Array ? 5000 : 500;
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        using RuntimeGate hot = new();
        int cold = 0;
        TaskCompletionSource othersDone = new(TaskCreationOptions.RunContinuationsAsynchronously);
        Task<ItemOutcome<int, int>[]> call = RuntimeRun.AllAsync(
            form,
            runtime,
            RuntimeRun.Count(count).PartitionBy(static x => x % 10 != 9 ? -1 : x),
            (x, _) =>
            {
                if (x % 10 != 9)
                {
                    return hot.PassAsync(x);
                }

                if (Interlocked.Increment(ref cold) == count / 10)
                {
                    othersDone.SetResult();
                }

                return new ValueTask<int>(x);
            });

        // Nine items in ten wait for the gate, one after the other, and none of the others is behind them.
        await othersDone.Task.WithinAsync("the items of other keys");
        await hot.ArrivedAsync(1).WithinAsync("an item of the hot key");
        Assert.Equal(1, hot.Arrived);
        hot.Open();
        Assert.Equal(RuntimeRun.Count(count), (await call).Select(static o => o.Value));
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.Every), MemberType = typeof(RuntimeCases))]
    public async Task KeySelector_ItemsFail_TheNextOfTheirKeyRuns(string name)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        ItemOutcome<int, int>[] outcomes = await runtime.ProcessManyAsync(
            RuntimeRun.Count(300).PartitionBy(static x => x % 3),
            static async (x, _) =>
            {
                if (x % 2 == 0)
                {
                    await Task.Yield();
                }

                return x % 5 == 0 ? throw new InvalidDataException($"item {x}") : x;
            });
        Assert.All(outcomes, static (o, x) => Assert.Equal(x % 5 == 0 ? ItemStatus.Failed : ItemStatus.Succeeded, o.Status));
        runtime.AssertIdle(240, 60);
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.Every), MemberType = typeof(RuntimeCases))]
    public async Task KeySelector_ItemRunsOutOfTime_TheNextOfItsKeyStartsThen(string name)
    {
        ManualTimeProvider clock = new();
        await using IExecutionRuntime runtime = RuntimeCases.Create(name, clock);
        using RuntimeGate stuck = new();
        Task<ItemOutcome<int, int>[]> call = Task.Run(() => runtime.ProcessManyAsync(
            RuntimeRun.Count(20).PartitionBy(static _ => "one"),
            (x, _) => x == 4 ? stuck.PassAsync(x) : new ValueTask<int>(x),
            new ProcessManyOptions { PerItemTimeout = TimeSpan.FromSeconds(5) }));
        await stuck.ArrivedAsync(1);
        await clock.PassAsync(TimeSpan.FromSeconds(5), call);
        ItemOutcome<int, int>[] outcomes = await call;
        RuntimeRun.AssertTimedOut(outcomes[4]);
        Assert.Equal(19, outcomes.Count(static o => o.IsSuccess));
        runtime.AssertIdle(19, 1);
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.Every), MemberType = typeof(RuntimeCases))]
    public async Task KeySelector_BatchRunsOutOfTime_WhatWaitsForItsKeyNeverRuns(string name)
    {
        ManualTimeProvider clock = new();
        await using IExecutionRuntime runtime = RuntimeCases.Create(name, clock);
        using RuntimeGate gate = new();
        Task<ItemOutcome<int, int>[]> call = Task.Run(() => runtime.ProcessManyAsync(
            RuntimeRun.Count(50).PartitionBy(static _ => 1), (x, _) => gate.PassAsync(x), new ProcessManyOptions { TotalTimeout = TimeSpan.FromSeconds(5) }));
        await gate.ArrivedAsync(1);
        await clock.PassAsync(TimeSpan.FromSeconds(5), call);
        ItemOutcome<int, int>[] outcomes = await call;
        RuntimeRun.AssertTimedOut(outcomes[0]);
        Assert.All(outcomes[1..], RuntimeRun.AssertTooLate);
        Assert.Equal(1, gate.Arrived);
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.Every), MemberType = typeof(RuntimeCases))]
    public async Task KeySelector_CallerCancels_ThrowsWithTheToken(string name)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        using RuntimeGate gate = new();
        using CancellationTokenSource caller = new();
        Task<ItemOutcome<int, int>[]> call = Task.Run(() => runtime.ProcessManyAsync(
            RuntimeRun.Count(50).PartitionBy(static x => x % 2), (x, token) => gate.PassAsync(x, token), null, caller.Token));
        await gate.ArrivedAsync(1);
        await caller.CancelAsync();
        OperationCanceledException thrown = await Assert.ThrowsAnyAsync<OperationCanceledException>(() => call);
        Assert.Equal(caller.Token, thrown.CancellationToken);
        Assert.True(await RuntimeRun.UntilAsync(() => runtime.Statistics.ActiveCalls == 0));
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(Forms))]
    public async Task KeySelector_ThrowsOrGivesNull_EndsTheCall(string name, RunForm form)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        InvalidDataException own = new("no key");
        InvalidDataException thrown = await Assert.ThrowsAsync<InvalidDataException>(() => RuntimeRun.AllAsync(
            form, runtime, RuntimeRun.Count(50).PartitionBy(x => x == 30 ? throw own : x), Selectors.Twice));
        Assert.Same(own, thrown);
        InvalidOperationException noKey = await Assert.ThrowsAsync<InvalidOperationException>(() => RuntimeRun.AllAsync(
            form == RunForm.Array ? form : RunForm.OrderedStream,
            runtime,
            RuntimeRun.Count(50).PartitionBy(static x => x == 30 ? null! : "key"),
            Selectors.Twice));
        Assert.Equal("The key of the item at index 30 is null.", noKey.Message);
        Assert.True(await RuntimeRun.UntilAsync(() => runtime.Statistics is { ActiveCalls: 0, InFlight: 0 }));
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(SeveralAtOnce))]
    public async Task MaxPerKey_TwoOfAKey_RunTogetherAndNoMore(string name)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        using RuntimeGate gate = new();
        ConcurrentQueue<int> seen = new();
        Task<ItemOutcome<int, int>[]> call = runtime.ProcessManyAsync(
            RuntimeRun.Count(40).PartitionBy(static _ => 1, maxPerKey: 2),
            (x, _) =>
            {
                seen.Enqueue(x);
                return gate.PassAsync(x);
            });
        await gate.ArrivedAsync(2);
        Assert.Equal([0, 1], seen.Order());
        gate.Open();
        Assert.All(await call, static o => Assert.True(o.IsSuccess));
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.Every), MemberType = typeof(RuntimeCases))]
    public async Task Arguments_Wrong_AreNamedAtTheCall(string name)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        int[] items = [1];
        Assert.Throws<ArgumentException>(() => { _ = runtime.ProcessManyAsync(items.PartitionBatchesBy(static _ => 0), Selectors.Twice); });
        Assert.Throws<ArgumentException>(() => { _ = runtime.ProcessManyStreamAsync(items.PartitionBatchesBy(static _ => 0), Selectors.Twice); });
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(SeveralAtOnce))]
    public async Task KeySelector_ConsumerLeavesEarly_EndsEverything(string name)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        await RuntimeRun.AllAsync(
            RunForm.Stream,
            runtime,
            RuntimeRun.Count(500).PartitionBy(static x => x % 20),
            static async (x, token) =>
            {
                if (x > 0)
                {
                    await Task.Delay(Timeout.InfiniteTimeSpan, TimeProvider.System, token);
                }

                return x;
            },
            most: 1);
        Assert.True(await RuntimeRun.UntilAsync(() => runtime.Statistics is { ActiveCalls: 0, InFlight: 0 }));
    }
}
