namespace Weir.Runtimes;

/// <summary>
/// A long-lived object that processes batches of items. The call and the contract are the same, whether the items run on the caller's thread, as many calls
/// in flight, or on dedicated threads.
/// </summary>
/// <remarks>
/// Any number of callers can use one runtime at once. <see cref="IAsyncDisposable.DisposeAsync"/> rejects new calls, lets the running calls finish within the
/// runtime's grace period, and then ends them: items that never started are <see cref="ItemStatus.NotRun"/>, and running items are
/// <see cref="ItemStatus.Cancelled"/>.
/// </remarks>
public interface IExecutionRuntime : IAsyncDisposable
{
    /// <summary>The short name of this kind of runtime, such as <c>direct</c>.</summary>
    string Name { get; }

    /// <summary>What the runtime has done so far, over all calls.</summary>
    RuntimeStatistics Statistics { get; }

    /// <summary>Runs all items and returns one outcome per item, in input order.</summary>
    /// <typeparam name="TItem">The type of the items.</typeparam>
    /// <typeparam name="TResult">The type of the results.</typeparam>
    /// <param name="items">
    /// The items. A list must not change during the call; any other sequence is read while the call goes on, one step at a time. With
    /// <see cref="ParallelOperators.PartitionBy{TSource, TKey}(IEnumerable{TSource}, Func{TSource, TKey}, int)"/>, those with the same key run one at a time,
    /// in input order, each after the previous one has ended or was given up.
    /// </param>
    /// <param name="processor">The call for an item. Its token is cancelled when the time limit of the item or of the call passes.</param>
    /// <param name="options">The time limits; <see langword="null"/> for none.</param>
    /// <param name="cancellationToken">Cancels the call.</param>
    /// <returns>Exactly one outcome per item. An item's failure is never thrown, but one of the sequence or of its keys is, and ends the call.</returns>
    /// <exception cref="ArgumentNullException">
    /// <paramref name="items"/> or <paramref name="processor"/> is <see langword="null"/>. Thrown at the call.
    /// </exception>
    /// <exception cref="ArgumentOutOfRangeException">A value of <paramref name="options"/> is out of range. Thrown at the call.</exception>
    /// <exception cref="ObjectDisposedException">The runtime has been disposed. Thrown at the call.</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    Task<ItemOutcome<TItem, TResult>[]> ProcessManyAsync<TItem, TResult>(
        IEnumerable<TItem> items,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        ProcessManyOptions? options = null,
        CancellationToken cancellationToken = default);

    /// <summary>Runs all items and yields each one's outcome, with its index, as soon as it is known.</summary>
    /// <typeparam name="TItem">The type of the items.</typeparam>
    /// <typeparam name="TResult">The type of the results.</typeparam>
    /// <param name="items">
    /// The items. A list must not change during the enumeration; any other sequence is read while it goes on, one step at a time. They may have keys, as for
    /// a call that returns all outcomes together.
    /// </param>
    /// <param name="processor">The call for an item. Its token is cancelled when the time limit of the item or of the call passes.</param>
    /// <param name="orderedOutput">Whether the outcomes come in input order rather than in completion order.</param>
    /// <param name="options">The time limits; <see langword="null"/> for none. The batch timeout counts from the first step.</param>
    /// <param name="cancellationToken">Cancels the enumeration.</param>
    /// <returns>
    /// Exactly one outcome per item, each index once. Nothing runs before the first step, and each enumeration is a separate run. Leaving it early cancels the
    /// running items and waits for them. A consumer that is 1,024 outcomes behind holds the run back.
    /// </returns>
    /// <exception cref="ArgumentNullException">
    /// <paramref name="items"/> or <paramref name="processor"/> is <see langword="null"/>. Thrown at the call.
    /// </exception>
    /// <exception cref="ArgumentOutOfRangeException">A value of <paramref name="options"/> is out of range. Thrown at the call.</exception>
    /// <exception cref="ObjectDisposedException">The runtime has been disposed. Thrown at the first step.</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    IAsyncEnumerable<(int Index, ItemOutcome<TItem, TResult> Outcome)> ProcessManyStreamAsync<TItem, TResult>(
        IEnumerable<TItem> items,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        bool orderedOutput = false,
        ProcessManyOptions? options = null,
        CancellationToken cancellationToken = default);
}
