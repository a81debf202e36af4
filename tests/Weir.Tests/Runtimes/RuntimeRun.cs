using System.Diagnostics;
using Weir.Runtimes;
using Weir.TestKit;

namespace Weir.Tests.Runtimes;

/// <summary>Runs a call in any form, and checks on the way what holds of every call: an outcome for each item, each index once, in order if it must.</summary>
internal static class RuntimeRun
{
    /// <summary>How much slower than real time <see cref="PassAsync"/> moves the clock on.</summary>
    private const int Slowness = 20;

    /// <summary>Starts the call on a thread of the pool, so that a runtime that works on its caller does not hold up the test.</summary>
    public static Task<ItemOutcome<TItem, TResult>[]> Start<TItem, TResult>(
        RunForm form,
        IExecutionRuntime runtime,
        IEnumerable<TItem> items,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        ProcessManyOptions? options = null,
        CancellationToken cancellationToken = default,
        int most = int.MaxValue) =>
        Task.Run(() => AllAsync(form, runtime, items, processor, options, cancellationToken, most), CancellationToken.None);

    /// <param name="form">How the outcomes are received.</param>
    /// <param name="runtime">The runtime.</param>
    /// <param name="items">The items. Those of a list are checked to be those of the outcomes, however these ended.</param>
    /// <param name="processor">The call for an item.</param>
    /// <param name="options">The options of the call.</param>
    /// <param name="cancellationToken">Cancels the call.</param>
    /// <param name="most">After how many outcomes the consumer of a stream leaves.</param>
    public static async Task<ItemOutcome<TItem, TResult>[]> AllAsync<TItem, TResult>(
        RunForm form,
        IExecutionRuntime runtime,
        IEnumerable<TItem> items,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        ProcessManyOptions? options = null,
        CancellationToken cancellationToken = default,
        int most = int.MaxValue)
    {
        ItemOutcome<TItem, TResult>[] all;
        if (form == RunForm.Array)
        {
            all = await runtime.ProcessManyAsync(items, processor, options, cancellationToken);
        }
        else
        {
            bool ordered = form == RunForm.OrderedStream;
            SortedDictionary<int, ItemOutcome<TItem, TResult>> outcomes = [];
            await foreach ((int index, ItemOutcome<TItem, TResult> outcome) in
                runtime.ProcessManyStreamAsync(items, processor, ordered, options, cancellationToken))
            {
                Assert.True(!ordered || index == outcomes.Count, $"Index {index} came after {outcomes.Count - 1}.");
                Assert.True(outcomes.TryAdd(index, outcome), $"Index {index} came twice.");
                if (outcomes.Count == most)
                {
                    return [.. outcomes.Values];
                }
            }

            Assert.Equal(Enumerable.Range(0, outcomes.Count), outcomes.Keys);
            all = [.. outcomes.Values];
        }

        if (items is IReadOnlyList<TItem> list)
        {
            Assert.Equal(list, all.Select(static o => o.Item));
        }

        return all;
    }

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

    /// <summary>The item never ran because the time limit of the call passed, and its outcome says so.</summary>
    public static void AssertTooLate<TItem, TResult>(ItemOutcome<TItem, TResult> outcome)
    {
        Assert.Equal(ItemStatus.NotRun, outcome.Status);
        Assert.IsType<RunTimeoutException>(Assert.IsAssignableFrom<OperationCanceledException>(outcome.Error).InnerException);
    }
}
