using Weir.Core.Sinks;
using Weir.Operators;

namespace Weir.Runtimes;

/// <summary>
/// Overloads for processors that return a <see cref="Task"/>, that take no token, or that are synchronous. An async lambda with a token does not need them,
/// because it converts to a <see cref="ValueTask"/>.
/// </summary>
public static partial class ExecutionRuntimeExtensions
{
    /// <summary>Runs all items and returns how each ended, in input order.</summary>
    /// <typeparam name="TItem">The type of the items.</typeparam>
    /// <param name="runtime">The runtime.</param>
    /// <param name="items">
    /// The items. A list must not change during the call; any other sequence is read while the call goes on, one step at a time. They may have keys, as for
    /// processors with results.
    /// </param>
    /// <param name="processor">The call for an item. Its token is cancelled when the time limit of the item or of the call passes.</param>
    /// <param name="options">The time limits; <see langword="null"/> for none.</param>
    /// <param name="cancellationToken">Cancels the call.</param>
    /// <returns>Exactly one outcome per item. An item's failure is never thrown, but one of the sequence or of its keys is, and ends the call.</returns>
    /// <exception cref="ArgumentNullException">
    /// <paramref name="runtime"/>, <paramref name="items"/> or <paramref name="processor"/> is <see langword="null"/>. Thrown at the call.
    /// </exception>
    /// <exception cref="ArgumentOutOfRangeException">A value of <paramref name="options"/> is out of range. Thrown at the call.</exception>
    /// <exception cref="ArgumentException">The policies have a fallback or a rule about results. Thrown at the call.</exception>
    /// <exception cref="ObjectDisposedException">The runtime has been disposed. Thrown at the call.</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    public static Task<ItemOutcome<TItem>[]> ProcessManyAsync<TItem>(
        this IExecutionRuntime runtime,
        IEnumerable<TItem> items,
        Func<TItem, CancellationToken, ValueTask> processor,
        ProcessManyOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(runtime);
        Fallback.ThrowIfSet(options?.Policies?.OnFallback, "a processor");
        RetryRule.ThrowIfSet(options?.Policies?.ShouldRetry);
        return TaskCalls.WithoutResults(runtime.ProcessManyAsync(items, TaskCalls.AsSelector<TItem, Nothing>(processor), options, cancellationToken));
    }
}
