namespace Weir.Runtimes;

/// <summary>
/// A resident place to run batches of items: the same call and the same contract, whether the items run on the caller, as many calls in
/// flight, or on threads of their own.
/// </summary>
/// <remarks>
/// Any number of callers may use one runtime at once. <see cref="IAsyncDisposable.DisposeAsync"/> refuses new calls, lets the running
/// ones finish within the runtime's grace period, and then ends them: items that never started are <see cref="ItemStatus.NotRun"/>, items that were running
/// are <see cref="ItemStatus.Cancelled"/>.
/// </remarks>
public interface IExecutionRuntime : IAsyncDisposable
{
    /// <summary>The short name of the kind of runtime, such as <c>direct</c>.</summary>
    string Name { get; }

    /// <summary>What the runtime has done so far, over all calls.</summary>
    RuntimeStatistics Statistics { get; }

    /// <summary>Runs all items and gives one outcome per item, in input order.</summary>
    /// <typeparam name="TItem">The type of the items.</typeparam>
    /// <typeparam name="TResult">The type of the results.</typeparam>
    /// <param name="items">The items. Must not change during the call.</param>
    /// <param name="processor">The call for an item; its token is cancelled when the item's time or the call's ends.</param>
    /// <param name="options">The time limits; <see langword="null"/> for none.</param>
    /// <param name="cancellationToken">Cancels the call.</param>
    /// <returns>Exactly as many outcomes as there are items. No item's failure is thrown.</returns>
    /// <exception cref="ArgumentNullException"><paramref name="items"/> or <paramref name="processor"/> is <see langword="null"/>. Thrown at the call.</exception>
    /// <exception cref="ArgumentOutOfRangeException">A value of <paramref name="options"/> is out of its range. Thrown at the call.</exception>
    /// <exception cref="ObjectDisposedException">The runtime has been disposed. Thrown at the call.</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    Task<ItemOutcome<TResult>[]> ProcessManyAsync<TItem, TResult>(
        IReadOnlyList<TItem> items,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        ProcessManyOptions? options = null,
        CancellationToken cancellationToken = default);

    /// <summary>Runs all items, those of one key one at a time and in input order, and gives one outcome per item, in input order.</summary>
    /// <typeparam name="TItem">The type of the items.</typeparam>
    /// <typeparam name="TResult">The type of the results.</typeparam>
    /// <typeparam name="TKey">The type of the keys.</typeparam>
    /// <param name="items">The items. Must not change during the call.</param>
    /// <param name="processor">The call for an item; its token is cancelled when the item's time or the call's ends.</param>
    /// <param name="keySelector">
    /// The key of an item. Called once an item, for one item at a time. Items of one key run one at a time and in input order (or <see cref="ProcessManyOptions.MaxPerPartition"/> at a
    /// time), each after the one before it has ended or was given up; items of other keys pass them.
    /// </param>
    /// <param name="options">The time limits; <see langword="null"/> for none.</param>
    /// <param name="cancellationToken">Cancels the call.</param>
    /// <returns>Exactly as many outcomes as there are items. No item's failure is thrown; an exception from <paramref name="keySelector"/> is, and ends the call.</returns>
    /// <exception cref="ArgumentNullException">
    /// <paramref name="items"/>, <paramref name="processor"/> or <paramref name="keySelector"/> is <see langword="null"/>. Thrown at the call.
    /// </exception>
    /// <exception cref="ArgumentOutOfRangeException">A value of <paramref name="options"/> is out of its range. Thrown at the call.</exception>
    /// <exception cref="ObjectDisposedException">The runtime has been disposed. Thrown at the call.</exception>
    /// <exception cref="InvalidOperationException">A key is <see langword="null"/>.</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    Task<ItemOutcome<TResult>[]> ProcessManyAsync<TItem, TResult, TKey>(
        IReadOnlyList<TItem> items,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        Func<TItem, TKey> keySelector,
        ProcessManyOptions? options = null,
        CancellationToken cancellationToken = default)
        where TKey : notnull;

    /// <summary>Runs all items and yields each one's outcome, with its index, as soon as it is known.</summary>
    /// <typeparam name="TItem">The type of the items.</typeparam>
    /// <typeparam name="TResult">The type of the results.</typeparam>
    /// <param name="items">The items. Must not change during the enumeration.</param>
    /// <param name="processor">The call for an item; its token is cancelled when the item's time or the call's ends.</param>
    /// <param name="preserveOrder">Whether the outcomes come in input order instead of in the order in which the items end.</param>
    /// <param name="options">The time limits; <see langword="null"/> for none. The batch timeout counts from the first step.</param>
    /// <param name="cancellationToken">Cancels the enumeration.</param>
    /// <returns>
    /// Exactly as many outcomes as there are items, each index once. Nothing runs before the first step; each enumeration is a run of its own. Leaving it early cancels what
    /// runs and waits for it. A consumer that is 1,024 outcomes behind holds the run back.
    /// </returns>
    /// <exception cref="ArgumentNullException"><paramref name="items"/> or <paramref name="processor"/> is <see langword="null"/>. Thrown at the call.</exception>
    /// <exception cref="ArgumentOutOfRangeException">A value of <paramref name="options"/> is out of its range. Thrown at the call.</exception>
    /// <exception cref="ObjectDisposedException">The runtime has been disposed. Thrown at the first step.</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    IAsyncEnumerable<(int Index, ItemOutcome<TResult> Outcome)> ProcessManyStreamAsync<TItem, TResult>(
        IReadOnlyList<TItem> items,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        bool preserveOrder = false,
        ProcessManyOptions? options = null,
        CancellationToken cancellationToken = default);

    /// <summary>Runs all items, those of one key one at a time and in input order, and gives the outcomes as they come.</summary>
    /// <typeparam name="TItem">The type of the items.</typeparam>
    /// <typeparam name="TResult">The type of the results.</typeparam>
    /// <typeparam name="TKey">The type of the keys.</typeparam>
    /// <param name="items">The items. Must not change during the enumeration.</param>
    /// <param name="processor">The call for an item; its token is cancelled when the item's time or the call's ends.</param>
    /// <param name="keySelector">
    /// The key of an item. Called once an item, for one item at a time. Items of one key run one at a time and in input order (or <see cref="ProcessManyOptions.MaxPerPartition"/> at a
    /// time), each after the one before it has ended or was given up; items of other keys pass them.
    /// </param>
    /// <param name="preserveOrder">Whether the outcomes come in input order instead of in the order in which the items end.</param>
    /// <param name="options">The time limits; <see langword="null"/> for none. The batch timeout counts from the first step.</param>
    /// <param name="cancellationToken">Cancels the enumeration.</param>
    /// <returns>
    /// As many outcomes as there are items, each index once, as without keys. An exception from <paramref name="keySelector"/> is thrown by the step that comes to it, and ends the enumeration.
    /// </returns>
    /// <exception cref="ArgumentNullException">
    /// <paramref name="items"/>, <paramref name="processor"/> or <paramref name="keySelector"/> is <see langword="null"/>. Thrown at the call.
    /// </exception>
    /// <exception cref="ArgumentOutOfRangeException">A value of <paramref name="options"/> is out of its range. Thrown at the call.</exception>
    /// <exception cref="ObjectDisposedException">The runtime has been disposed. Thrown at the first step.</exception>
    /// <exception cref="InvalidOperationException">A key is <see langword="null"/>.</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    IAsyncEnumerable<(int Index, ItemOutcome<TResult> Outcome)> ProcessManyStreamAsync<TItem, TResult, TKey>(
        IReadOnlyList<TItem> items,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        Func<TItem, TKey> keySelector,
        bool preserveOrder = false,
        ProcessManyOptions? options = null,
        CancellationToken cancellationToken = default)
        where TKey : notnull;
}
