using System.Diagnostics;
using System.Runtime.CompilerServices;
using Weir.Runtimes;

namespace Weir.Tests.Runtimes;

/// <summary>What only a direct runtime promises: the caller's thread, the items' order, and nothing allocated for an item.</summary>
public class DirectRuntimeTests
{
    [Fact(Timeout = 90_000)]
    public async Task ProcessManyAsync_SynchronousItems_RunOnTheCallersThreadInOrder()
    {
        await using DirectRuntime runtime = new();
        List<(int Item, int Thread)> ran = [];
        int caller = Environment.CurrentManagedThreadId;
        Task<ItemOutcome<int, int>[]> call = runtime.ProcessManyAsync(RuntimeRun.Count(1000), (x, _) =>
        {
            ran.Add((x, Environment.CurrentManagedThreadId));
            return x % 10 == 0 ? throw new InvalidDataException() : new ValueTask<int>(x);
        });
        Assert.True(call.IsCompletedSuccessfully);
        Assert.Equal(RuntimeRun.Count(1000).Select(x => (x, caller)), ran);
        await call;
    }

    [Fact(Timeout = 90_000)]
    public async Task ProcessManyAsync_ItemThatWaits_WhatComesBeforeItRunsOnTheCaller()
    {
        await using DirectRuntime runtime = new();
        TaskCompletionSource<int> gate = new(TaskCreationOptions.RunContinuationsAsynchronously);
        List<int> ran = [];
        List<int> threads = [];
        int caller = Environment.CurrentManagedThreadId;
        Task<ItemOutcome<int, int>[]> call = runtime.ProcessManyAsync(RuntimeRun.Count(20), (x, _) =>
        {
            ran.Add(x);
            threads.Add(Environment.CurrentManagedThreadId);
            return x == 10 ? new ValueTask<int>(gate.Task) : new ValueTask<int>(x);
        });
        Assert.False(call.IsCompleted);
        Assert.Equal(RuntimeRun.Count(11), ran);
        Assert.All(threads, t => Assert.Equal(caller, t));
        gate.SetResult(10);
        Assert.Equal(RuntimeRun.Count(20), (await call).Select(static o => o.Value));
        Assert.Equal(RuntimeRun.Count(20), ran);
    }

    [Fact(Timeout = 90_000)]
    public async Task ProcessManyStreamAsync_SynchronousItemsThatTakeLong_RunOneForEachStepOnTheCaller()
    {
        await using DirectRuntime runtime = new();
        int ran = 0;
        int thread = 0;
        IAsyncEnumerator<(int Index, ItemOutcome<int, int> Outcome)> enumerator = runtime.ProcessManyStreamAsync(RuntimeRun.Count(10), (x, _) =>
        {
            ran++;
            thread = Environment.CurrentManagedThreadId;

            // Longer than what counts as next to no time.
            for (long started = Stopwatch.GetTimestamp(); Stopwatch.GetElapsedTime(started) < TimeSpan.FromMicroseconds(20);)
            {
            }

            return new ValueTask<int>(x);
        }).GetAsyncEnumerator(CancellationToken.None);
        for (int x = 0; x < 10; x++)
        {
            Assert.Equal(x, ran);
            ValueTask<bool> step = enumerator.MoveNextAsync();
            Assert.True(step.IsCompletedSuccessfully);
            Assert.True(await step);
            Assert.Equal(Environment.CurrentManagedThreadId, thread);
            Assert.Equal(x, enumerator.Current.Outcome.Value);
        }

        await enumerator.DisposeAsync();
    }

    [Fact(Timeout = 90_000)]
    public async Task ProcessManyStreamAsync_TinyItems_RunSomeAtOnceOnTheCaller()
    {
        const int MostAtOnce = 64;
        await using DirectRuntime runtime = new();
        int caller = Environment.CurrentManagedThreadId;
        int ran = 0;
        int elsewhere = 0;
        int next = 0;
        int most = 0;
        await foreach ((int index, ItemOutcome<int, int> outcome) in runtime.ProcessManyStreamAsync(RuntimeRun.Count(100_000), (x, _) =>
        {
            ran++;
            elsewhere += Environment.CurrentManagedThreadId == caller ? 0 : 1;
            return new ValueTask<int>(x);
        }))
        {
            Assert.Equal(next++, index);
            Assert.Equal(index, outcome.Value);
            Assert.InRange(ran - next, 0, MostAtOnce - 1);
            most = Math.Max(most, ran - next);
        }

        Assert.Equal(100_000, next);
        Assert.Equal(0, elsewhere);
        Assert.InRange(most, 1, MostAtOnce - 1);
    }

    [Fact(Timeout = 90_000)]
    public async Task ProcessManyAsync_SynchronousItems_AllocateNothingBesideTheOutcomes()
    {
        Assert.SkipWhen(IsDebugBuild(), "Debug builds make async state machines objects of their own.");
        await using DirectRuntime runtime = new();
        int[] items = RuntimeRun.Count(10_000);
        Func<int, CancellationToken, ValueTask<int>> same = static (x, _) => new ValueTask<int>(x);
        for (int i = 0; i < 100; i++)
        {
            _ = runtime.ProcessManyAsync(items, same);
        }

        long array = (10_000L * Unsafe.SizeOf<ItemOutcome<int, int>>()) + 24;
        long most = array + 1_400;
        Assert.InRange(Allocated.Least(() => Assert.True(runtime.ProcessManyAsync(items, same).IsCompletedSuccessfully), most), array, most);
    }

    [Fact(Timeout = 90_000)]
    public async Task ProcessManyAsync_ItemsThatWaitOneAfterTheOther_DoNotGrowTheStack()
    {
        await using DirectRuntime runtime = new();
        ItemOutcome<int, int>[] outcomes = await runtime.ProcessManyAsync(RuntimeRun.Count(50_000), static async (x, _) =>
        {
            await Task.Yield();
            return x;
        });
        Assert.Equal(RuntimeRun.Count(50_000), outcomes.Select(static o => o.Value));
    }

    [Fact(Timeout = 90_000)]
    public async Task ProcessManyAsync_BatchTimeoutPassesInASynchronousItem_TheItemIsTimedOutAndTheRestNeverRuns()
    {
        TestKit.ManualTimeProvider clock = new();
        await using DirectRuntime runtime = new(new RuntimeOptions { TimeProvider = clock });
        ItemOutcome<int, int>[] outcomes = await runtime.ProcessManyAsync(
            RuntimeRun.Count(10),
            (x, token) =>
            {
                if (x == 4)
                {
                    clock.Advance(TimeSpan.FromSeconds(1));
                    Assert.True(token.IsCancellationRequested);
                }

                return new ValueTask<int>(x);
            },
            new ProcessManyOptions { TotalTimeout = TimeSpan.FromSeconds(1) });
        Assert.Equal(RuntimeRun.Count(4), outcomes[..4].Select(static o => o.Value));
        RuntimeRun.AssertTimedOut(outcomes[4]);
        Assert.All(outcomes[5..], RuntimeRun.AssertTooLate);
    }

    [Fact(Timeout = 90_000)]
    public async Task ProcessManyAsync_ItemBlocksTheCaller_IsGivenUpAtItsTimeAndTheOthersRunElsewhere()
    {
        TestKit.ManualTimeProvider clock = new();
        await using DirectRuntime runtime = new(new RuntimeOptions { TimeProvider = clock });
        using RuntimeGate gate = new();
        int caller = 0;
        List<int> threads = [];
        Task<ItemOutcome<int, int>[]> call = RuntimeRun.Start(
            RunForm.Array,
            runtime,
            RuntimeRun.Count(10),
            (x, _) =>
            {
                if (x == 4)
                {
                    caller = Environment.CurrentManagedThreadId;
                    return new ValueTask<int>(gate.Block(x));
                }

                threads.Add(Environment.CurrentManagedThreadId);
                return new ValueTask<int>(x);
            },
            new ProcessManyOptions { PerItemTimeout = TimeSpan.FromSeconds(5) });
        await gate.ArrivedAsync(1);
        Task<bool> ended = RuntimeRun.UntilAsync(() => runtime.Statistics is { ActiveCalls: 0, Succeeded: 9 });
        await clock.PassAsync(TimeSpan.FromSeconds(5), ended);
        Assert.True(await ended);

        // The caller gets its thread back, and with it the outcomes, when the processor returns.
        Assert.False(call.IsCompleted);
        gate.Open();
        ItemOutcome<int, int>[] outcomes = await call;
        RuntimeRun.AssertTimedOut(outcomes[4]);
        Assert.All(outcomes, static (o, x) => Assert.True(x == 4 || o.Value == x));
        Assert.All(threads[..4], t => Assert.Equal(caller, t));
        Assert.All(threads[4..], t => Assert.NotEqual(caller, t));
        runtime.AssertIdle(9, 1);
        Assert.Equal(1, runtime.Statistics.AbandonedWorkers);
    }

    private static bool IsDebugBuild() =>
        typeof(DirectRuntime).Assembly.GetCustomAttributes(typeof(System.Diagnostics.DebuggableAttribute), false)
            .OfType<System.Diagnostics.DebuggableAttribute>().Any(static a => a.IsJITOptimizerDisabled);
}
