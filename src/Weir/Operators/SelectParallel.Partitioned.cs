using System.Runtime.CompilerServices;
using System.Threading.Channels;
using Weir.Core.Sources;
using Weir.Operators;

namespace Weir;

/// <content>Partitioned: Results as a list.</content>
public static partial class ParallelOperators
{
    /// <summary>
    /// Runs <paramref name="selector"/> for each item of <paramref name="source"/>, several at a time, and returns the results in source order.
    /// </summary>
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
    /// <returns>The results in source order. Under <see cref="ErrorMode.BestEffort"/>, failed items are left out.</returns>
    /// <exception cref="ArgumentNullException">
    /// <paramref name="source"/>, <paramref name="selector"/> or <paramref name="partitionBy"/> is <see langword="null"/>. Thrown at the call.
    /// </exception>
    /// <exception cref="ArgumentOutOfRangeException">A value of <paramref name="options"/> is out of range. Thrown at the call.</exception>
    /// <exception cref="OperationCanceledException">
    /// <paramref name="cancellationToken"/> was cancelled. Thrown with that token, in every <see cref="ErrorMode"/>.
    /// </exception>
    /// <exception cref="ItemsFailedException{TResult}">
    /// Items failed under <see cref="ErrorMode.CollectAndContinue"/>. Under <see cref="ErrorMode.FailFast"/>, the first failed item's own exception is thrown
    /// instead.
    /// </exception>
    /// <remarks>
    /// The task completes when everything that was started has ended, even after a failure or a cancellation. An exception from <paramref name="source"/>
    /// itself ends the run at once in every mode. This method is thread-safe.
    /// </remarks>
    public static Task<List<TResult>> SelectParallelAsync<TSource, TResult, TKey>(
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
        return OperatorRun.List(Lanes.Of(SourceOf.Enumerable(source), partitionBy, options), selector, options, cancellationToken);
    }

    /// <inheritdoc cref="SelectParallelAsync{TSource, TResult, TKey}(IEnumerable{TSource}, Func{TSource, CancellationToken, ValueTask{TResult}}, Func{TSource,
    ///     TKey}, ParallelRunOptions, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Asynchronous)]
    public static Task<List<TResult>> SelectParallelAsync<TSource, TResult, TKey>(
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
        return OperatorRun.List(Lanes.Of(SourceOf.AsyncEnumerable(source), partitionBy, options), selector, options, cancellationToken);
    }

    /// <inheritdoc cref="SelectParallelAsync{TSource, TResult, TKey}(IEnumerable{TSource}, Func{TSource, CancellationToken, ValueTask{TResult}}, Func{TSource,
    ///     TKey}, ParallelRunOptions, CancellationToken)"/>
    public static Task<List<TResult>> SelectParallelAsync<TSource, TResult, TKey>(
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
        return OperatorRun.List(Lanes.Of(SourceOf.Channel(source), partitionBy, options), selector, options, cancellationToken);
    }
}
