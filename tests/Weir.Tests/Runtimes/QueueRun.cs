using System.Collections.Concurrent;
using Weir.Runtimes;

namespace Weir.Tests.Runtimes;

/// <summary>Runs a queue of work on a runtime in any form, and checks on the way that each index comes once, and in order if it must.</summary>
internal static class QueueRun
{
    /// <summary>Starts the call on a thread of the pool, so that a runtime that works on its caller does not hold up the test.</summary>
    public static Task<ItemOutcome<int, int>[]> Start(
        RunForm form,
        IExecutionRuntime runtime,
        WorkQueue<int> queue,
        Func<int, CancellationToken, ValueTask<int>> call,
        ProcessManyOptions? options = null,
        bool keyed = false,
        int most = int.MaxValue,
        CancellationToken cancellationToken = default) =>
        Task.Run(() => AllAsync(form, runtime, queue, call, options, keyed, most, cancellationToken), CancellationToken.None);

    /// <param name="form">How the outcomes are received.</param>
    /// <param name="runtime">The runtime.</param>
    /// <param name="queue">The queue.</param>
    /// <param name="call">The call for an item.</param>
    /// <param name="options">The options of the call.</param>
    /// <param name="keyed">Whether items have keys, which are their remainders of three.</param>
    /// <param name="most">After how many outcomes the consumer of a stream leaves.</param>
    /// <param name="cancellationToken">Cancels the call.</param>
    public static async Task<ItemOutcome<int, int>[]> AllAsync(
        RunForm form,
        IExecutionRuntime runtime,
        WorkQueue<int> queue,
        Func<int, CancellationToken, ValueTask<int>> call,
        ProcessManyOptions? options,
        bool keyed,
        int most,
        CancellationToken cancellationToken)
    {
        IEnumerable<int> items = queue.AsEnumerable();
        if (form == RunForm.Array)
        {
            return await (keyed
                ? runtime.ProcessManyAsync(items.PartitionBy(static item => item % 3), call, options, cancellationToken)
                : runtime.ProcessManyAsync(items, call, options, cancellationToken));
        }

        bool ordered = form == RunForm.OrderedStream;
        IAsyncEnumerable<(int Index, ItemOutcome<int, int> Outcome)> stream = keyed
            ? runtime.ProcessManyStreamAsync(items.PartitionBy(static item => item % 3), call, ordered, options, cancellationToken)
            : runtime.ProcessManyStreamAsync(items, call, ordered, options, cancellationToken);
        SortedDictionary<int, ItemOutcome<int, int>> outcomes = [];
        await foreach ((int index, ItemOutcome<int, int> outcome) in stream)
        {
            Assert.True(!ordered || index == outcomes.Count, $"Index {index} came after {outcomes.Count - 1}.");
            Assert.True(outcomes.TryAdd(index, outcome), $"Index {index} came twice.");
            if (outcomes.Count == most)
            {
                break;
            }
        }

        Assert.True(most != int.MaxValue || outcomes.Keys.SequenceEqual(Enumerable.Range(0, outcomes.Count)), "Each index comes.");
        return [.. outcomes.Values];
    }

    /// <summary>The sorted values of the items that ended with one.</summary>
    public static IEnumerable<int> Values(this IEnumerable<ItemOutcome<int, int>> outcomes) =>
        outcomes.Where(static outcome => outcome.IsSuccess).Select(static outcome => outcome.Value).Order();

    public static int NotRun(this IEnumerable<ItemOutcome<int, int>> outcomes) => outcomes.Count(static outcome => outcome.Status == ItemStatus.NotRun);

    /// <summary>Checks that nothing is queued or running, and that the queue knows that it has ended.</summary>
    public static void AssertEnded(this WorkQueue<int> queue) => Assert.Equal((0, 0, true), (queue.Count, queue.Running, queue.IsCompleted));

    /// <summary>Checks that each number below a count was begun once.</summary>
    public static void AssertOnce(this ConcurrentQueue<int> begun, int count) => Assert.Equal(Enumerable.Range(0, count), begun.Order());
}
