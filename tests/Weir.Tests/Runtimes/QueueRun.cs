using System.Collections.Concurrent;
using Weir.Runtimes;

namespace Weir.Tests.Runtimes;

/// <summary>Runs a queue of work on a runtime in any form.</summary>
internal static class QueueRun
{
    /// <summary>Starts the call, as <see cref="RuntimeRun"/> does.</summary>
    /// <param name="form">How the outcomes are received.</param>
    /// <param name="runtime">The runtime.</param>
    /// <param name="queue">The queue.</param>
    /// <param name="call">The call for an item.</param>
    /// <param name="options">The options of the call.</param>
    /// <param name="keyed">Whether items have keys, which are their remainders of three.</param>
    /// <param name="most">After how many outcomes the consumer of a stream leaves.</param>
    /// <param name="cancellationToken">Cancels the call.</param>
    public static Task<ItemOutcome<int, int>[]> Start(
        RunForm form,
        IExecutionRuntime runtime,
        WorkQueue<int> queue,
        Func<int, CancellationToken, ValueTask<int>> call,
        ProcessManyOptions? options = null,
        bool keyed = false,
        int most = int.MaxValue,
        CancellationToken cancellationToken = default)
    {
        IEnumerable<int> items = queue.AsEnumerable();
        return RuntimeRun.Start(
            form, runtime, keyed ? items.PartitionBy(static item => item % 3) : items, call, options, cancellationToken, most);
    }

    /// <summary>The sorted values of the items that ended with one.</summary>
    public static IEnumerable<int> Values(this IEnumerable<ItemOutcome<int, int>> outcomes) =>
        outcomes.Where(static outcome => outcome.IsSuccess).Select(static outcome => outcome.Value).Order();

    public static int NotRun(this IEnumerable<ItemOutcome<int, int>> outcomes) => outcomes.Count(static outcome => outcome.Status == ItemStatus.NotRun);

    /// <summary>Checks that each number below a count was begun once.</summary>
    public static void AssertOnce(this ConcurrentQueue<int> begun, int count) => Assert.Equal(Enumerable.Range(0, count), begun.Order());
}
