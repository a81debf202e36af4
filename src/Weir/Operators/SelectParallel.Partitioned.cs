using System.Runtime.CompilerServices;
using System.Threading.Channels;
using Weir.Core.Sources;
using Weir.Operators;

namespace Weir;

/// <content>Partitioned: Results as a list.</content>
public static partial class ParallelOperators
{
    /// <summary>Runs <paramref name="selector"/> for the items of <paramref name="source"/>, several at a time, and gives the results in source order.</summary>
    /// <typeparam name="TSource">The type of the items.</typeparam>
    /// <typeparam name="TResult">The type of the results.</typeparam>
    /// <typeparam name="TKey">The type of the keys.</typeparam>
    /// <param name="source">The items. Arrays and lists are read in place and must not change during the run. Other sequences are read by one worker at a time, as items are wanted; never the whole sequence ahead.</param>
    /// <param name="selector">The call for an item. Runs on the thread pool, never on the caller's thread or context, and for several items at once.</param>
    /// <param name="partitionBy">
    /// The key of an item. Items of one key run one at a time and in source order (or <see cref="ParallelRunOptions.MaxPerPartition"/> at a time); those of other keys pass them. Called once an item, by one
    /// worker at a time; an exception from it, or a null key, is a failure of the source.
    /// </param>
    /// <param name="options">How to run; <see langword="null"/> for the defaults.</param>
    /// <param name="cancellationToken">Cancels the run. The token given to <paramref name="selector"/> is cancelled by it, and whenever the run stops.</param>
    /// <returns>The results in source order; failed items are left out under <see cref="ErrorMode.BestEffort"/>.</returns>
    /// <exception cref="ArgumentNullException"><paramref name="source"/>, <paramref name="selector"/> or <paramref name="partitionBy"/> is <see langword="null"/>. Thrown at the call.</exception>
    /// <exception cref="ArgumentOutOfRangeException">A value of <paramref name="options"/> is out of its range. Thrown at the call.</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled; in every <see cref="ErrorMode"/>, and with that token.</exception>
    /// <exception cref="ItemsFailedException{TResult}">Items failed under <see cref="ErrorMode.CollectAndContinue"/>. Under <see cref="ErrorMode.FailFast"/> the first item's own exception is thrown instead.</exception>
    /// <remarks>
    /// The task ends when everything that was started has ended, also after a failure or a cancellation. An exception that <paramref name="source"/> itself throws
    /// ends the run at once in every mode. Safe to call from several threads.
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

    /// <summary>Runs <paramref name="selector"/> for the items of <paramref name="source"/>, several at a time, and gives the results in source order.</summary>
    /// <typeparam name="TSource">The type of the items.</typeparam>
    /// <typeparam name="TResult">The type of the results.</typeparam>
    /// <typeparam name="TKey">The type of the keys.</typeparam>
    /// <param name="source">The items. The sequence is advanced by one worker at a time, as items are wanted.</param>
    /// <param name="selector">The call for an item. Runs on the thread pool, never on the caller's thread or context, and for several items at once.</param>
    /// <param name="partitionBy">
    /// The key of an item. Items of one key run one at a time and in source order (or <see cref="ParallelRunOptions.MaxPerPartition"/> at a time); those of other keys pass them. Called once an item, by one
    /// worker at a time; an exception from it, or a null key, is a failure of the source.
    /// </param>
    /// <param name="options">How to run; <see langword="null"/> for the defaults.</param>
    /// <param name="cancellationToken">Cancels the run. The token given to <paramref name="selector"/> is cancelled by it, and whenever the run stops.</param>
    /// <returns>The results in source order; failed items are left out under <see cref="ErrorMode.BestEffort"/>.</returns>
    /// <exception cref="ArgumentNullException"><paramref name="source"/>, <paramref name="selector"/> or <paramref name="partitionBy"/> is <see langword="null"/>. Thrown at the call.</exception>
    /// <exception cref="ArgumentOutOfRangeException">A value of <paramref name="options"/> is out of its range. Thrown at the call.</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled; in every <see cref="ErrorMode"/>, and with that token.</exception>
    /// <exception cref="ItemsFailedException{TResult}">Items failed under <see cref="ErrorMode.CollectAndContinue"/>. Under <see cref="ErrorMode.FailFast"/> the first item's own exception is thrown instead.</exception>
    /// <remarks>
    /// The task ends when everything that was started has ended, also after a failure or a cancellation. An exception that <paramref name="source"/> itself throws
    /// ends the run at once in every mode. Safe to call from several threads.
    /// </remarks>
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

    /// <summary>Runs <paramref name="selector"/> for the items of <paramref name="source"/>, several at a time, and gives the results in source order.</summary>
    /// <typeparam name="TSource">The type of the items.</typeparam>
    /// <typeparam name="TResult">The type of the results.</typeparam>
    /// <typeparam name="TKey">The type of the keys.</typeparam>
    /// <param name="source">The items. The channel is read by one worker at a time until it is completed, so a channel made for a single reader may be given.</param>
    /// <param name="selector">The call for an item. Runs on the thread pool, never on the caller's thread or context, and for several items at once.</param>
    /// <param name="partitionBy">
    /// The key of an item. Items of one key run one at a time and in source order (or <see cref="ParallelRunOptions.MaxPerPartition"/> at a time); those of other keys pass them. Called once an item, by one
    /// worker at a time; an exception from it, or a null key, is a failure of the source.
    /// </param>
    /// <param name="options">How to run; <see langword="null"/> for the defaults.</param>
    /// <param name="cancellationToken">Cancels the run. The token given to <paramref name="selector"/> is cancelled by it, and whenever the run stops.</param>
    /// <returns>The results in source order; failed items are left out under <see cref="ErrorMode.BestEffort"/>.</returns>
    /// <exception cref="ArgumentNullException"><paramref name="source"/>, <paramref name="selector"/> or <paramref name="partitionBy"/> is <see langword="null"/>. Thrown at the call.</exception>
    /// <exception cref="ArgumentOutOfRangeException">A value of <paramref name="options"/> is out of its range. Thrown at the call.</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled; in every <see cref="ErrorMode"/>, and with that token.</exception>
    /// <exception cref="ItemsFailedException{TResult}">Items failed under <see cref="ErrorMode.CollectAndContinue"/>. Under <see cref="ErrorMode.FailFast"/> the first item's own exception is thrown instead.</exception>
    /// <remarks>
    /// The task ends when everything that was started has ended, also after a failure or a cancellation. An exception that <paramref name="source"/> itself throws
    /// ends the run at once in every mode. Safe to call from several threads.
    /// </remarks>
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
