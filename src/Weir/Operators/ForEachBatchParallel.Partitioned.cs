using System.Runtime.CompilerServices;
using System.Threading.Channels;
using Weir.Core.Sources;
using Weir.Operators;

namespace Weir;

/// <content>Partitioned: Side effects of batches without results.</content>
public static partial class ParallelOperators
{
    /// <summary>Splits <paramref name="source"/> into batches and runs <paramref name="batchAction"/> for several batches at a time.</summary>
    /// <typeparam name="TSource">The type of the items.</typeparam>
    /// <typeparam name="TKey">The type of the keys.</typeparam>
    /// <param name="source">
    /// The items. Arrays and lists are read in place and must not change during the run. Other sequences are read by one worker at a time, and only as items
    /// are wanted, never all at once. A channel is read until it is completed; it may be a single-reader channel.
    /// </param>
    /// <param name="batchSize">The largest number of items in a batch, at least 1.</param>
    /// <param name="batchAction">The call for a batch. It owns the list it gets. It runs on the thread pool, for several batches at once.</param>
    /// <param name="partitionBy">
    /// Returns the key of a batch. Batches with the same key run one at a time, in source order (or <see cref="ParallelRunOptions.MaxPerPartition"/> at a
    /// time); batches with other keys can overtake them. It is called once per batch, by one worker at a time. An exception from it, or a null key, is treated
    /// as a failure of the source.
    /// </param>
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
    /// <paramref name="source"/>, <paramref name="batchAction"/> or <paramref name="partitionBy"/> is <see langword="null"/>. Thrown at the call.
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
    public static Task ForEachBatchParallelAsync<TSource, TKey>(
        this IEnumerable<TSource> source,
        int batchSize,
        Func<IReadOnlyList<TSource>, CancellationToken, ValueTask> batchAction,
        Func<IReadOnlyList<TSource>, TKey> partitionBy,
        ParallelRunOptions? options = null,
        TimeSpan? batchTimeout = null,
        CancellationToken cancellationToken = default)
        where TKey : notnull
    {
        ArgumentNullException.ThrowIfNull(source);
        Require.AtLeastOne(batchSize, nameof(batchSize));
        ArgumentNullException.ThrowIfNull(batchAction);
        ArgumentNullException.ThrowIfNull(partitionBy);
        batchTimeout = Require.NoneIfInfinite(batchTimeout);
        Require.Timeout(batchTimeout, nameof(batchTimeout));
        options ??= ParallelRunOptions.Default;
        options.Validate();
        return OperatorRun.Discard(
            Lanes.Of(batchTimeout is null || Batches.IsInMemory(source)
                ? Batches.Enumerable(source, batchSize)
                : new TimedBatchSource<TSource>(new OffloadedEnumerable<TSource>(source), batchSize, batchTimeout, options.TimeProvider), partitionBy, options),
            batchAction,
            options,
            cancellationToken);
    }

    /// <inheritdoc cref="ForEachBatchParallelAsync{TSource, TKey}(IEnumerable{TSource}, int, Func{IReadOnlyList{TSource}, CancellationToken, ValueTask},
    ///     Func{IReadOnlyList{TSource}, TKey}, ParallelRunOptions, TimeSpan?, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Asynchronous)]
    public static Task ForEachBatchParallelAsync<TSource, TKey>(
        this IAsyncEnumerable<TSource> source,
        int batchSize,
        Func<IReadOnlyList<TSource>, CancellationToken, ValueTask> batchAction,
        Func<IReadOnlyList<TSource>, TKey> partitionBy,
        ParallelRunOptions? options = null,
        TimeSpan? batchTimeout = null,
        CancellationToken cancellationToken = default)
        where TKey : notnull
    {
        ArgumentNullException.ThrowIfNull(source);
        Require.AtLeastOne(batchSize, nameof(batchSize));
        ArgumentNullException.ThrowIfNull(batchAction);
        ArgumentNullException.ThrowIfNull(partitionBy);
        batchTimeout = Require.NoneIfInfinite(batchTimeout);
        Require.Timeout(batchTimeout, nameof(batchTimeout));
        options ??= ParallelRunOptions.Default;
        options.Validate();
        return OperatorRun.Discard(
            Lanes.Of(new TimedBatchSource<TSource>(source, batchSize, batchTimeout, options.TimeProvider), partitionBy, options),
            batchAction,
            options,
            cancellationToken);
    }

    /// <inheritdoc cref="ForEachBatchParallelAsync{TSource, TKey}(IEnumerable{TSource}, int, Func{IReadOnlyList{TSource}, CancellationToken, ValueTask},
    ///     Func{IReadOnlyList{TSource}, TKey}, ParallelRunOptions, TimeSpan?, CancellationToken)"/>
    public static Task ForEachBatchParallelAsync<TSource, TKey>(
        this ChannelReader<TSource> source,
        int batchSize,
        Func<IReadOnlyList<TSource>, CancellationToken, ValueTask> batchAction,
        Func<IReadOnlyList<TSource>, TKey> partitionBy,
        ParallelRunOptions? options = null,
        TimeSpan? batchTimeout = null,
        CancellationToken cancellationToken = default)
        where TKey : notnull
    {
        ArgumentNullException.ThrowIfNull(source);
        Require.AtLeastOne(batchSize, nameof(batchSize));
        ArgumentNullException.ThrowIfNull(batchAction);
        ArgumentNullException.ThrowIfNull(partitionBy);
        batchTimeout = Require.NoneIfInfinite(batchTimeout);
        Require.Timeout(batchTimeout, nameof(batchTimeout));
        options ??= ParallelRunOptions.Default;
        options.Validate();
        return OperatorRun.Discard(
            Lanes.Of(
                new TimedBatchSource<TSource>(source.ReadAllAsync(CancellationToken.None), batchSize, batchTimeout, options.TimeProvider),
                partitionBy,
                options),
            batchAction,
            options,
            cancellationToken);
    }
}
