using System.Runtime.CompilerServices;
using System.Threading.Channels;
using Weir.Core.Sources;
using Weir.Operators;

namespace Weir;

/// <content>Results of batches as a list.</content>
public static partial class ParallelOperators
{
    /// <summary>Splits <paramref name="source"/> into batches and runs <paramref name="batchSelector"/> for several batches at a time.</summary>
    /// <typeparam name="TSource">The type of the items.</typeparam>
    /// <typeparam name="TResult">The type of a batch's result.</typeparam>
    /// <param name="source">
    /// The items. Arrays and lists are read in place and must not change during the run. Other sequences are read by one worker at a time, and only as items
    /// are wanted, never all at once. A channel is read until it is completed; it may be a single-reader channel.
    /// </param>
    /// <param name="batchSize">The number of items in a batch, at least 1. The last batch may have fewer.</param>
    /// <param name="batchSelector">The call for a batch. It owns the list it gets. It runs on the thread pool, for several batches at once.</param>
    /// <param name="options">How to run the calls; <see langword="null"/> for the defaults.</param>
    /// <param name="cancellationToken">
    /// Cancels the run. The token passed to <paramref name="batchSelector"/> is cancelled then, and whenever the run stops.
    /// </param>
    /// <returns>One result per batch, in source order. Under <see cref="ErrorMode.BestEffort"/>, failed batches are left out.</returns>
    /// <exception cref="ArgumentNullException">
    /// <paramref name="source"/> or <paramref name="batchSelector"/> is <see langword="null"/>. Thrown at the call.
    /// </exception>
    /// <exception cref="ArgumentOutOfRangeException">
    /// <paramref name="batchSize"/> is less than 1, or a value of <paramref name="options"/> is out of range. Thrown at the call.
    /// </exception>
    /// <exception cref="OperationCanceledException">
    /// <paramref name="cancellationToken"/> was cancelled. Thrown with that token, in every <see cref="ErrorMode"/>.
    /// </exception>
    /// <exception cref="ItemsFailedException{TResult}">
    /// Batches failed under <see cref="ErrorMode.CollectAndContinue"/>. Under <see cref="ErrorMode.FailFast"/>, the first failed batch's own exception is
    /// thrown instead.
    /// </exception>
    /// <remarks>Options and hooks treat a batch as an item. Only the batches in flight are held in memory. This method is thread-safe.</remarks>
    public static Task<List<TResult>> BatchParallelAsync<TSource, TResult>(
        this IEnumerable<TSource> source,
        int batchSize,
        Func<IReadOnlyList<TSource>, CancellationToken, ValueTask<TResult>> batchSelector,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(source);
        Require.AtLeastOne(batchSize, nameof(batchSize));
        ArgumentNullException.ThrowIfNull(batchSelector);
        options = ParallelRunOptions.Of(options);
        return OperatorRun.List(new BatchesOf(batchSize, null, options).Enumerable(source), batchSelector, options, cancellationToken);
    }

    /// <inheritdoc cref="BatchParallelAsync{TSource, TResult}(IEnumerable{TSource}, int, Func{IReadOnlyList{TSource}, CancellationToken, ValueTask{TResult}},
    ///     ParallelRunOptions, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Asynchronous)]
    public static Task<List<TResult>> BatchParallelAsync<TSource, TResult>(
        this IAsyncEnumerable<TSource> source,
        int batchSize,
        Func<IReadOnlyList<TSource>, CancellationToken, ValueTask<TResult>> batchSelector,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(source);
        Require.AtLeastOne(batchSize, nameof(batchSize));
        ArgumentNullException.ThrowIfNull(batchSelector);
        options = ParallelRunOptions.Of(options);
        return OperatorRun.List(new BatchesOf(batchSize, null, options).AsyncEnumerable(source), batchSelector, options, cancellationToken);
    }

    /// <inheritdoc cref="BatchParallelAsync{TSource, TResult}(IEnumerable{TSource}, int, Func{IReadOnlyList{TSource}, CancellationToken, ValueTask{TResult}},
    ///     ParallelRunOptions, CancellationToken)"/>
    public static Task<List<TResult>> BatchParallelAsync<TSource, TResult>(
        this ChannelReader<TSource> source,
        int batchSize,
        Func<IReadOnlyList<TSource>, CancellationToken, ValueTask<TResult>> batchSelector,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(source);
        Require.AtLeastOne(batchSize, nameof(batchSize));
        ArgumentNullException.ThrowIfNull(batchSelector);
        options = ParallelRunOptions.Of(options);
        return OperatorRun.List(new BatchesOf(batchSize, null, options).Channel(source), batchSelector, options, cancellationToken);
    }

    // Results of batches as a stream.

    /// <summary>
    /// Splits <paramref name="source"/> into batches, runs <paramref name="batchSelector"/> for several batches at a time, and yields the results as they
    /// become available.
    /// </summary>
    /// <typeparam name="TSource">The type of the items.</typeparam>
    /// <typeparam name="TResult">The type of a batch's result.</typeparam>
    /// <param name="source">
    /// The items. Arrays and lists are read in place and must not change during the run. Other sequences are read by one worker at a time, and only as items
    /// are wanted, never all at once. A channel is read until it is completed; it may be a single-reader channel.
    /// </param>
    /// <param name="batchSize">The largest number of items in a batch, at least 1.</param>
    /// <param name="batchSelector">The call for a batch. It owns the list it gets. It runs on the thread pool, for several batches at once.</param>
    /// <param name="options">How to run the calls; <see langword="null"/> for the defaults.</param>
    /// <param name="batchTimeout">
    /// How long the first item of a batch may wait for the batch to fill. Then the batch goes out as it is, even while the source yields nothing. More than
    /// zero; <see langword="null"/> or <see cref="Timeout.InfiniteTimeSpan"/> for no limit.
    /// </param>
    /// <param name="cancellationToken">
    /// Cancels the run. The token passed to <paramref name="batchSelector"/> is cancelled then, and whenever the run stops.
    /// </param>
    /// <returns>
    /// One result per batch, in the order of completion, or in source order with <see cref="ParallelRunOptions.OrderedOutput"/>. Nothing runs before the first
    /// step of an enumeration, and each enumeration is a separate run.
    /// </returns>
    /// <exception cref="ArgumentNullException">
    /// <paramref name="source"/> or <paramref name="batchSelector"/> is <see langword="null"/>. Thrown at the call.
    /// </exception>
    /// <exception cref="ArgumentOutOfRangeException">
    /// <paramref name="batchSize"/> is less than 1, <paramref name="batchTimeout"/> is not more than zero, or a value of <paramref name="options"/> is out of
    /// range. Thrown at the call.
    /// </exception>
    /// <exception cref="OperationCanceledException">
    /// <paramref name="cancellationToken"/> was cancelled. Thrown with that token, in every <see cref="ErrorMode"/>.
    /// </exception>
    /// <exception cref="ItemsFailedException">
    /// Batches failed under <see cref="ErrorMode.CollectAndContinue"/>. Under <see cref="ErrorMode.FailFast"/>, the first failed batch's own exception is
    /// thrown instead.
    /// </exception>
    /// <remarks>
    /// Options and hooks treat a batch as an item. Leaving the enumeration early cancels the running batches and waits for them. With a timeout, an
    /// <see cref="IEnumerable{T}"/> that is not an in-memory collection is advanced on a pool thread, one step at a time.
    /// </remarks>
    public static IAsyncEnumerable<TResult> BatchParallelStreamAsync<TSource, TResult>(
        this IEnumerable<TSource> source,
        int batchSize,
        Func<IReadOnlyList<TSource>, CancellationToken, ValueTask<TResult>> batchSelector,
        ParallelRunOptions? options = null,
        TimeSpan? batchTimeout = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(source);
        Require.AtLeastOne(batchSize, nameof(batchSize));
        ArgumentNullException.ThrowIfNull(batchSelector);
        batchTimeout = Require.NoneIfInfinite(batchTimeout);
        Require.Timeout(batchTimeout, nameof(batchTimeout));
        options = ParallelRunOptions.Of(options);
        ItemsOf.Check<TSource>(source, options, hasBatches: true);
        return OperatorRun.Stream(() => new BatchesOf(batchSize, batchTimeout, options).Enumerable(source), batchSelector, options, cancellationToken);
    }

    /// <inheritdoc cref="BatchParallelStreamAsync{TSource, TResult}(IEnumerable{TSource}, int, Func{IReadOnlyList{TSource}, CancellationToken,
    ///     ValueTask{TResult}}, ParallelRunOptions, TimeSpan?, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Asynchronous)]
    public static IAsyncEnumerable<TResult> BatchParallelStreamAsync<TSource, TResult>(
        this IAsyncEnumerable<TSource> source,
        int batchSize,
        Func<IReadOnlyList<TSource>, CancellationToken, ValueTask<TResult>> batchSelector,
        ParallelRunOptions? options = null,
        TimeSpan? batchTimeout = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(source);
        Require.AtLeastOne(batchSize, nameof(batchSize));
        ArgumentNullException.ThrowIfNull(batchSelector);
        batchTimeout = Require.NoneIfInfinite(batchTimeout);
        Require.Timeout(batchTimeout, nameof(batchTimeout));
        options = ParallelRunOptions.Of(options);
        ItemsOf.Check<TSource>(source, options, hasBatches: true);
        return OperatorRun.Stream(() => new BatchesOf(batchSize, batchTimeout, options).AsyncEnumerable(source), batchSelector, options, cancellationToken);
    }

    /// <inheritdoc cref="BatchParallelStreamAsync{TSource, TResult}(IEnumerable{TSource}, int, Func{IReadOnlyList{TSource}, CancellationToken,
    ///     ValueTask{TResult}}, ParallelRunOptions, TimeSpan?, CancellationToken)"/>
    public static IAsyncEnumerable<TResult> BatchParallelStreamAsync<TSource, TResult>(
        this ChannelReader<TSource> source,
        int batchSize,
        Func<IReadOnlyList<TSource>, CancellationToken, ValueTask<TResult>> batchSelector,
        ParallelRunOptions? options = null,
        TimeSpan? batchTimeout = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(source);
        Require.AtLeastOne(batchSize, nameof(batchSize));
        ArgumentNullException.ThrowIfNull(batchSelector);
        batchTimeout = Require.NoneIfInfinite(batchTimeout);
        Require.Timeout(batchTimeout, nameof(batchTimeout));
        options = ParallelRunOptions.Of(options);
        ResumedRun.Check<TSource>(source, options);
        return OperatorRun.Stream(() => new BatchesOf(batchSize, batchTimeout, options).Channel(source), batchSelector, options, cancellationToken);
    }

    // Side effects of batches without results.

    /// <summary>Splits <paramref name="source"/> into batches and runs <paramref name="batchAction"/> for several batches at a time.</summary>
    /// <typeparam name="TSource">The type of the items.</typeparam>
    /// <param name="source">
    /// The items. Arrays and lists are read in place and must not change during the run. Other sequences are read by one worker at a time, and only as items
    /// are wanted, never all at once. A channel is read until it is completed; it may be a single-reader channel.
    /// </param>
    /// <param name="batchSize">The largest number of items in a batch, at least 1.</param>
    /// <param name="batchAction">The call for a batch. It owns the list it gets. It runs on the thread pool, for several batches at once.</param>
    /// <param name="options">How to run the calls; <see langword="null"/> for the defaults.</param>
    /// <param name="batchTimeout">
    /// How long the first item of a batch may wait for the batch to fill. Then the batch goes out as it is, even while the source yields nothing. More than
    /// zero; <see langword="null"/> or <see cref="Timeout.InfiniteTimeSpan"/> for no limit.
    /// </param>
    /// <param name="cancellationToken">
    /// Cancels the run. The token passed to <paramref name="batchAction"/> is cancelled then, and whenever the run stops.
    /// </param>
    /// <returns>A task that completes when everything that was started has ended.</returns>
    /// <exception cref="ArgumentNullException">
    /// <paramref name="source"/> or <paramref name="batchAction"/> is <see langword="null"/>. Thrown at the call.
    /// </exception>
    /// <exception cref="ArgumentOutOfRangeException">
    /// <paramref name="batchSize"/> is less than 1, <paramref name="batchTimeout"/> is not more than zero, or a value of <paramref name="options"/> is out of
    /// range. Thrown at the call.
    /// </exception>
    /// <exception cref="OperationCanceledException">
    /// <paramref name="cancellationToken"/> was cancelled. Thrown with that token, in every <see cref="ErrorMode"/>.
    /// </exception>
    /// <exception cref="ItemsFailedException">
    /// Batches failed under <see cref="ErrorMode.CollectAndContinue"/>. Under <see cref="ErrorMode.FailFast"/>, the first failed batch's own exception is
    /// thrown instead.
    /// </exception>
    /// <remarks>
    /// Options and hooks treat a batch as an item. Only the batches in flight are held in memory. With a timeout, an <see cref="IEnumerable{T}"/> that is not
    /// an in-memory collection is advanced on a pool thread, one step at a time. An exception from <paramref name="source"/> itself ends the run at once in
    /// every mode. This method is thread-safe.
    /// </remarks>
    public static Task ForEachBatchParallelAsync<TSource>(
        this IEnumerable<TSource> source,
        int batchSize,
        Func<IReadOnlyList<TSource>, CancellationToken, ValueTask> batchAction,
        ParallelRunOptions? options = null,
        TimeSpan? batchTimeout = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(source);
        Require.AtLeastOne(batchSize, nameof(batchSize));
        ArgumentNullException.ThrowIfNull(batchAction);
        batchTimeout = Require.NoneIfInfinite(batchTimeout);
        Require.Timeout(batchTimeout, nameof(batchTimeout));
        options = ParallelRunOptions.Of(options);
        return OperatorRun.Discard(new BatchesOf(batchSize, batchTimeout, options).Enumerable(source), batchAction, options, cancellationToken);
    }

    /// <inheritdoc cref="ForEachBatchParallelAsync{TSource}(IEnumerable{TSource}, int, Func{IReadOnlyList{TSource}, CancellationToken, ValueTask},
    ///     ParallelRunOptions, TimeSpan?, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Asynchronous)]
    public static Task ForEachBatchParallelAsync<TSource>(
        this IAsyncEnumerable<TSource> source,
        int batchSize,
        Func<IReadOnlyList<TSource>, CancellationToken, ValueTask> batchAction,
        ParallelRunOptions? options = null,
        TimeSpan? batchTimeout = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(source);
        Require.AtLeastOne(batchSize, nameof(batchSize));
        ArgumentNullException.ThrowIfNull(batchAction);
        batchTimeout = Require.NoneIfInfinite(batchTimeout);
        Require.Timeout(batchTimeout, nameof(batchTimeout));
        options = ParallelRunOptions.Of(options);
        return OperatorRun.Discard(new BatchesOf(batchSize, batchTimeout, options).AsyncEnumerable(source), batchAction, options, cancellationToken);
    }

    /// <inheritdoc cref="ForEachBatchParallelAsync{TSource}(IEnumerable{TSource}, int, Func{IReadOnlyList{TSource}, CancellationToken, ValueTask},
    ///     ParallelRunOptions, TimeSpan?, CancellationToken)"/>
    public static Task ForEachBatchParallelAsync<TSource>(
        this ChannelReader<TSource> source,
        int batchSize,
        Func<IReadOnlyList<TSource>, CancellationToken, ValueTask> batchAction,
        ParallelRunOptions? options = null,
        TimeSpan? batchTimeout = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(source);
        Require.AtLeastOne(batchSize, nameof(batchSize));
        ArgumentNullException.ThrowIfNull(batchAction);
        batchTimeout = Require.NoneIfInfinite(batchTimeout);
        Require.Timeout(batchTimeout, nameof(batchTimeout));
        options = ParallelRunOptions.Of(options);
        return OperatorRun.Discard(new BatchesOf(batchSize, batchTimeout, options).Channel(source), batchAction, options, cancellationToken);
    }
}
