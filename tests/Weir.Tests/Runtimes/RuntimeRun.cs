using System.Diagnostics;
using Weir.Runtimes;
using Weir.TestKit;

namespace Weir.Tests.Runtimes;

/// <summary>Runs a call in any form, and checks on the way what holds of every call: as many outcomes as items, each index once.</summary>
internal static class RuntimeRun
{
    /// <summary>How much slower than real time <see cref="PassAsync"/> moves the clock on.</summary>
    private const int Slowness = 20;

    /// <summary>Starts the call on a thread of the pool, so that a runtime that works on its caller does not hold up the test.</summary>
    public static Task<ItemOutcome<TItem, TResult>[]> Start<TItem, TResult>(
        RunForm form,
        IExecutionRuntime runtime,
        IReadOnlyList<TItem> items,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        ProcessManyOptions? options = null,
        CancellationToken cancellationToken = default) =>
        Task.Run(() => AllAsync(form, runtime, items, processor, options, cancellationToken), CancellationToken.None);

    public static async Task<ItemOutcome<TItem, TResult>[]> AllAsync<TItem, TResult>(
        RunForm form,
        IExecutionRuntime runtime,
        IReadOnlyList<TItem> items,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        ProcessManyOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        if (form == RunForm.Array)
        {
            ItemOutcome<TItem, TResult>[] all = await runtime.ProcessManyAsync(items, processor, options, cancellationToken);
            Assert.Equal(items.Count, all.Length);
            AssertItems(items, all);
            return all;
        }

        bool ordered = form == RunForm.OrderedStream;
        var outcomes = new ItemOutcome<TItem, TResult>?[items.Count];
        int last = -1;
        int count = 0;
        await foreach ((int index, ItemOutcome<TItem, TResult> outcome) in
            runtime.ProcessManyStreamAsync(items, processor, ordered, options, cancellationToken))
        {
            Assert.InRange(index, 0, items.Count - 1);
            Assert.False(outcomes[index].HasValue, $"Index {index} came twice.");
            Assert.True(!ordered || index == last + 1, $"Index {index} came after {last}.");
            outcomes[index] = outcome;
            last = index;
            count++;
        }

        Assert.Equal(items.Count, count);
        ItemOutcome<TItem, TResult>[] streamed = [.. outcomes.Select(static o => o!.Value)];
        AssertItems(items, streamed);
        return streamed;
    }

    /// <summary>Checks that each outcome has its item, however it ended.</summary>
    public static void AssertItems<TItem, TResult>(IReadOnlyList<TItem> items, ItemOutcome<TItem, TResult>[] outcomes) =>
        Assert.Equal(items, outcomes.Select(static o => o.Item));

    public static int[] Count(int count) => [.. Enumerable.Range(0, count)];

    /// <summary>
    /// Moves the clock by a limit, and then on, far slower than real time, until the task has ended. The time of an item that has begun is up at the move: on a
    /// clock of a test's, it runs from its start. What needs the clock after that needs it for milliseconds: an item that was caught between two states, and is
    /// looked at once more. The items that begin after the move must not run out of time too, however long their thread is held up: no test lasts long enough
    /// for a limit of five seconds to pass a second time.
    /// </summary>
    public static async Task PassAsync(this ManualTimeProvider clock, TimeSpan by, Task until)
    {
        await Task.Yield();
        clock.Advance(by);
        long last = Stopwatch.GetTimestamp();
        while (!until.IsCompleted)
        {
            SpinWait.SpinUntil(() => until.IsCompleted, 1);
            await Task.Yield();
            long now = Stopwatch.GetTimestamp();
            clock.Advance(Stopwatch.GetElapsedTime(last, now) / Slowness);
            last = now;
        }
    }

    /// <summary>
    /// Waits until so many items of the runtime have succeeded and only the given number still runs. A thread that loses its processor inside another item
    /// while the clock is moved would be out of time as well, and rightly so.
    /// </summary>
    /// <remarks>Either count alone is true for a moment between two items.</remarks>
    public static async Task SettledAsync(this IExecutionRuntime runtime, long succeeded, int inFlight = 1) =>
        Assert.True(
            await UntilAsync(() => runtime.Statistics is var s && s.Succeeded == succeeded && s.InFlight == inFlight),
            $"{succeeded} items have ended and {inFlight} runs: {runtime.Statistics}");

    /// <summary>Checks that nobody holds a timer any more. The BCL's own waits let go of theirs a moment after they have ended.</summary>
    public static async Task AssertNoTimersAsync(this ManualTimeProvider clock) =>
        Assert.True(clock.ArmedTimers == 0 || await UntilAsync(() => clock.ArmedTimers == 0), $"{clock.ArmedTimers} timers are left.");

    /// <summary>Waits, on a thread of its own and for a bounded time, for something that real threads bring about.</summary>
    public static Task<bool> UntilAsync(Func<bool> condition) =>
        Task.Factory.StartNew(
            () => SpinWait.SpinUntil(condition, TimeSpan.FromSeconds(60)),
            CancellationToken.None,
            TaskCreationOptions.LongRunning,
            TaskScheduler.Default);

    /// <summary>Checks that nothing of any call is left in the runtime's statistics but its counts.</summary>
    public static void AssertIdle(this IExecutionRuntime runtime, long succeeded, long failedOrCancelled)
    {
        RuntimeStatistics statistics = runtime.Statistics;
        Assert.Equal(succeeded, statistics.Succeeded);
        Assert.Equal(failedOrCancelled, statistics.Failed + statistics.Cancelled);
        Assert.Equal(0, statistics.ActiveCalls);
        Assert.Equal(0, statistics.InFlight);
    }

    public static void AssertTimedOut<TItem, TResult>(ItemOutcome<TItem, TResult> outcome)
    {
        Assert.Equal(ItemStatus.TimedOut, outcome.Status);
        Assert.IsAssignableFrom<OperationCanceledException>(outcome.Error);
        Assert.True(outcome.Error!.InnerException is ItemTimeoutException or RunTimeoutException);
    }

    public static void AssertCancelled<TItem, TResult>(ItemOutcome<TItem, TResult> outcome)
    {
        Assert.Equal(ItemStatus.Cancelled, outcome.Status);
        Assert.Null(outcome.Error);
    }

    public static void AssertNotRun<TItem, TResult>(ItemOutcome<TItem, TResult> outcome)
    {
        Assert.Equal(ItemStatus.NotRun, outcome.Status);
        Assert.Null(outcome.Error);
    }
}
