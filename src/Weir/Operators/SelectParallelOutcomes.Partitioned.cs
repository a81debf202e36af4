using System.Runtime.CompilerServices;
using System.Threading.Channels;
using Weir.Core.Sources;
using Weir.Operators;

namespace Weir;

/// <content>Partitioned: One outcome per item.</content>
public static partial class ParallelOperators
{
    /// <summary>Runs <paramref name="selector"/> for each item of <paramref name="source"/>, several at a time, and returns how each item ended.</summary>
    /// <typeparam name="TSource">The type of the items.</typeparam>
    /// <typeparam name="TResult">The type of the results.</typeparam>
    /// <typeparam name="TKey">The type of the keys.</typeparam>
    /// <param name="source">
    /// The items. Arrays and lists are read in place and must not change during the run. Other sequences are read by one worker at a time, and only as items
    /// are wanted, never all at once. A channel is read until it is completed; it may be a single-reader channel.
    /// </param>
    /// <param name="selector">The call for an item. It runs on the thread pool, never on the caller's thread or context, and for several items at once.</param>
    /// <param name="partitionBy">
    /// Returns the key of an item. Items with the same key run one at a time, in source order (or <see cref="ParallelRunOptions.MaxPerPartition"/> at a time);
    /// items with other keys can overtake them. It is called once per item, by one worker at a time. An exception from it, or a null key, is treated as a
    /// failure of the source.
    /// </param>
    /// <param name="options">How to run the calls; <see langword="null"/> for the defaults.</param>
    /// <param name="cancellationToken">Cancels the run. The token passed to <paramref name="selector"/> is cancelled then, and whenever the run stops.</param>
    /// <returns>
    /// One outcome per item, in source order. An item's failure is never thrown, and <see cref="ParallelRunOptions.ErrorMode"/> has no effect: all items run,
    /// unless <see cref="ParallelRunOptions.OnErrorAsync"/> stops the run. Items that have not started by then are <see cref="ItemStatus.NotRun"/>.
    /// </returns>
    /// <exception cref="ArgumentNullException">
    /// <paramref name="source"/>, <paramref name="selector"/> or <paramref name="partitionBy"/> is <see langword="null"/>. Thrown at the call.
    /// </exception>
    /// <exception cref="ArgumentOutOfRangeException">A value of <paramref name="options"/> is out of range. Thrown at the call.</exception>
    /// <exception cref="OperationCanceledException">
    /// <paramref name="cancellationToken"/> was cancelled. Thrown with that token, in every <see cref="ErrorMode"/>.
    /// </exception>
    /// <remarks>An exception from <paramref name="source"/> itself is thrown. This method is thread-safe.</remarks>
    public static Task<ItemOutcome<TResult>[]> SelectParallelOutcomesAsync<TSource, TResult, TKey>(
        this IEnumerable<TSource> source,
        Func<TSource, CancellationToken, ValueTask<TResult>> selector,
        Func<TSource, TKey> partitionBy,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default)
        where TKey : notnull
    {
        ArgumentNullException.ThrowIfNull(source);
        ArgumentNullException.ThrowIfNull(selector);
        ArgumentNullException.ThrowIfNull(partitionBy);
        options ??= ParallelRunOptions.Default;
        options.Validate();
        return OperatorRun.Outcomes(Lanes.Of(SourceOf.Enumerable(source), partitionBy, options), selector, options, cancellationToken);
    }

    /// <inheritdoc cref="SelectParallelOutcomesAsync{TSource, TResult, TKey}(IEnumerable{TSource}, Func{TSource, CancellationToken, ValueTask{TResult}},
    ///     Func{TSource, TKey}, ParallelRunOptions, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Asynchronous)]
    public static Task<ItemOutcome<TResult>[]> SelectParallelOutcomesAsync<TSource, TResult, TKey>(
        this IAsyncEnumerable<TSource> source,
        Func<TSource, CancellationToken, ValueTask<TResult>> selector,
        Func<TSource, TKey> partitionBy,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default)
        where TKey : notnull
    {
        ArgumentNullException.ThrowIfNull(source);
        ArgumentNullException.ThrowIfNull(selector);
        ArgumentNullException.ThrowIfNull(partitionBy);
        options ??= ParallelRunOptions.Default;
        options.Validate();
        return OperatorRun.Outcomes(Lanes.Of(SourceOf.AsyncEnumerable(source), partitionBy, options), selector, options, cancellationToken);
    }

    /// <inheritdoc cref="SelectParallelOutcomesAsync{TSource, TResult, TKey}(IEnumerable{TSource}, Func{TSource, CancellationToken, ValueTask{TResult}},
    ///     Func{TSource, TKey}, ParallelRunOptions, CancellationToken)"/>
    public static Task<ItemOutcome<TResult>[]> SelectParallelOutcomesAsync<TSource, TResult, TKey>(
        this ChannelReader<TSource> source,
        Func<TSource, CancellationToken, ValueTask<TResult>> selector,
        Func<TSource, TKey> partitionBy,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default)
        where TKey : notnull
    {
        ArgumentNullException.ThrowIfNull(source);
        ArgumentNullException.ThrowIfNull(selector);
        ArgumentNullException.ThrowIfNull(partitionBy);
        options ??= ParallelRunOptions.Default;
        options.Validate();
        return OperatorRun.Outcomes(Lanes.Of(SourceOf.Channel(source), partitionBy, options), selector, options, cancellationToken);
    }
}
