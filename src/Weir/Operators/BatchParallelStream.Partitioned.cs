using System.Runtime.CompilerServices;
using System.Threading.Channels;
using Weir.Core.Sources;
using Weir.Operators;

namespace Weir;

/// <content>Partitioned: Results of batches as a stream.</content>
public static partial class ParallelOperators
{
    /// <summary>Cuts <paramref name="source"/> into batches, runs <paramref name="batchSelector"/> for several of them at a time, and yields the results as they come.</summary>
    /// <typeparam name="TSource">The type of the items.</typeparam>
    /// <typeparam name="TResult">The type of a batch's result.</typeparam>
    /// <typeparam name="TKey">The type of the keys.</typeparam>
    /// <param name="source">The items. Arrays and lists are read in place and must not change during the run. Other sequences are read by one worker at a time, as items are wanted; never the whole sequence ahead.</param>
    /// <param name="batchSize">How many items a batch has at the most. At least 1.</param>
    /// <param name="batchSelector">The call for a batch, which owns the list it is given. Runs on the thread pool, for several batches at once.</param>
    /// <param name="partitionBy">
    /// The key of a batch. Batches of one key run one at a time and in source order (or <see cref="ParallelRunOptions.MaxPerPartition"/> at a time); those of other keys pass them. Called once a batch, by one
    /// worker at a time; an exception from it, or a null key, is a failure of the source.
    /// </param>
    /// <param name="options">How to run; <see langword="null"/> for the defaults.</param>
    /// <param name="batchTimeout">
    /// How long the first item of a batch may wait for the batch to fill, also while the source gives nothing; the batch is then handed out as it is.
    /// More than zero; <see langword="null"/> or <see cref="Timeout.InfiniteTimeSpan"/> for no limit.
    /// </param>
    /// <param name="cancellationToken">Cancels the run. The token given to <paramref name="batchSelector"/> is cancelled by it, and whenever the run stops.</param>
    /// <returns>
    /// One result per batch, in the order of completion, or in source order with <see cref="ParallelRunOptions.OrderedOutput"/>. Nothing runs before the
    /// first step, and each enumeration is a run of its own.
    /// </returns>
    /// <exception cref="ArgumentNullException"><paramref name="source"/>, <paramref name="batchSelector"/> or <paramref name="partitionBy"/> is <see langword="null"/>. Thrown at the call.</exception>
    /// <exception cref="ArgumentOutOfRangeException"><paramref name="batchSize"/> is less than 1, <paramref name="batchTimeout"/> is not more than zero, or a value of <paramref name="options"/> is out of its range. Thrown at the call.</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled; in every <see cref="ErrorMode"/>, and with that token.</exception>
    /// <exception cref="ItemsFailedException">Items failed under <see cref="ErrorMode.CollectAndContinue"/>. Under <see cref="ErrorMode.FailFast"/> the first item's own exception is thrown instead.</exception>
    /// <remarks>
    /// Options and hooks count batches as items. Leaving the enumeration early cancels what runs and waits for it. With a timeout, a sequence that is not a collection is stepped on a pool thread of its own, one step at a time.
    /// </remarks>
    public static IAsyncEnumerable<TResult> BatchParallelStreamAsync<TSource, TResult, TKey>(
        this IEnumerable<TSource> source,
        int batchSize,
        Func<IReadOnlyList<TSource>, CancellationToken, ValueTask<TResult>> batchSelector,
        Func<IReadOnlyList<TSource>, TKey> partitionBy,
        ParallelRunOptions? options = null,
        TimeSpan? batchTimeout = null,
        CancellationToken cancellationToken = default)
        where TKey : notnull
    {
        ArgumentNullException.ThrowIfNull(source);
        Require.AtLeastOne(batchSize, nameof(batchSize));
        ArgumentNullException.ThrowIfNull(batchSelector);
        ArgumentNullException.ThrowIfNull(partitionBy);
        batchTimeout = Require.NoneIfInfinite(batchTimeout);
        Require.Timeout(batchTimeout, nameof(batchTimeout));
        options ??= ParallelRunOptions.Default;
        options.Validate();
        return OperatorRun.Stream(
            () => Lanes.Of(batchTimeout is null || Batches.IsInMemory(source)
                ? Batches.Enumerable(source, batchSize)
                : new TimedBatchSource<TSource>(new OffloadedEnumerable<TSource>(source), batchSize, batchTimeout, options.TimeProvider), partitionBy, options),
            batchSelector,
            options,
            cancellationToken);
    }

    /// <summary>Cuts <paramref name="source"/> into batches, runs <paramref name="batchSelector"/> for several of them at a time, and yields the results as they come.</summary>
    /// <typeparam name="TSource">The type of the items.</typeparam>
    /// <typeparam name="TResult">The type of a batch's result.</typeparam>
    /// <typeparam name="TKey">The type of the keys.</typeparam>
    /// <param name="source">The items. The sequence is advanced by one worker at a time, as items are wanted.</param>
    /// <param name="batchSize">How many items a batch has at the most. At least 1.</param>
    /// <param name="batchSelector">The call for a batch, which owns the list it is given. Runs on the thread pool, for several batches at once.</param>
    /// <param name="partitionBy">
    /// The key of a batch. Batches of one key run one at a time and in source order (or <see cref="ParallelRunOptions.MaxPerPartition"/> at a time); those of other keys pass them. Called once a batch, by one
    /// worker at a time; an exception from it, or a null key, is a failure of the source.
    /// </param>
    /// <param name="options">How to run; <see langword="null"/> for the defaults.</param>
    /// <param name="batchTimeout">
    /// How long the first item of a batch may wait for the batch to fill, also while the source gives nothing; the batch is then handed out as it is.
    /// More than zero; <see langword="null"/> or <see cref="Timeout.InfiniteTimeSpan"/> for no limit.
    /// </param>
    /// <param name="cancellationToken">Cancels the run. The token given to <paramref name="batchSelector"/> is cancelled by it, and whenever the run stops.</param>
    /// <returns>
    /// One result per batch, in the order of completion, or in source order with <see cref="ParallelRunOptions.OrderedOutput"/>. Nothing runs before the
    /// first step, and each enumeration is a run of its own.
    /// </returns>
    /// <exception cref="ArgumentNullException"><paramref name="source"/>, <paramref name="batchSelector"/> or <paramref name="partitionBy"/> is <see langword="null"/>. Thrown at the call.</exception>
    /// <exception cref="ArgumentOutOfRangeException"><paramref name="batchSize"/> is less than 1, <paramref name="batchTimeout"/> is not more than zero, or a value of <paramref name="options"/> is out of its range. Thrown at the call.</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled; in every <see cref="ErrorMode"/>, and with that token.</exception>
    /// <exception cref="ItemsFailedException">Items failed under <see cref="ErrorMode.CollectAndContinue"/>. Under <see cref="ErrorMode.FailFast"/> the first item's own exception is thrown instead.</exception>
    /// <remarks>
    /// Options and hooks count batches as items. Leaving the enumeration early cancels what runs and waits for it.
    /// </remarks>
    [OverloadResolutionPriority(Priority.Asynchronous)]
    public static IAsyncEnumerable<TResult> BatchParallelStreamAsync<TSource, TResult, TKey>(
        this IAsyncEnumerable<TSource> source,
        int batchSize,
        Func<IReadOnlyList<TSource>, CancellationToken, ValueTask<TResult>> batchSelector,
        Func<IReadOnlyList<TSource>, TKey> partitionBy,
        ParallelRunOptions? options = null,
        TimeSpan? batchTimeout = null,
        CancellationToken cancellationToken = default)
        where TKey : notnull
    {
        ArgumentNullException.ThrowIfNull(source);
        Require.AtLeastOne(batchSize, nameof(batchSize));
        ArgumentNullException.ThrowIfNull(batchSelector);
        ArgumentNullException.ThrowIfNull(partitionBy);
        batchTimeout = Require.NoneIfInfinite(batchTimeout);
        Require.Timeout(batchTimeout, nameof(batchTimeout));
        options ??= ParallelRunOptions.Default;
        options.Validate();
        return OperatorRun.Stream(
            () => Lanes.Of(new TimedBatchSource<TSource>(source, batchSize, batchTimeout, options.TimeProvider), partitionBy, options),
            batchSelector,
            options,
            cancellationToken);
    }

    /// <summary>Cuts <paramref name="source"/> into batches, runs <paramref name="batchSelector"/> for several of them at a time, and yields the results as they come.</summary>
    /// <typeparam name="TSource">The type of the items.</typeparam>
    /// <typeparam name="TResult">The type of a batch's result.</typeparam>
    /// <typeparam name="TKey">The type of the keys.</typeparam>
    /// <param name="source">The items. The channel is read by one worker at a time until it is completed, so a channel made for a single reader may be given.</param>
    /// <param name="batchSize">How many items a batch has at the most. At least 1.</param>
    /// <param name="batchSelector">The call for a batch, which owns the list it is given. Runs on the thread pool, for several batches at once.</param>
    /// <param name="partitionBy">
    /// The key of a batch. Batches of one key run one at a time and in source order (or <see cref="ParallelRunOptions.MaxPerPartition"/> at a time); those of other keys pass them. Called once a batch, by one
    /// worker at a time; an exception from it, or a null key, is a failure of the source.
    /// </param>
    /// <param name="options">How to run; <see langword="null"/> for the defaults.</param>
    /// <param name="batchTimeout">
    /// How long the first item of a batch may wait for the batch to fill, also while the source gives nothing; the batch is then handed out as it is.
    /// More than zero; <see langword="null"/> or <see cref="Timeout.InfiniteTimeSpan"/> for no limit.
    /// </param>
    /// <param name="cancellationToken">Cancels the run. The token given to <paramref name="batchSelector"/> is cancelled by it, and whenever the run stops.</param>
    /// <returns>
    /// One result per batch, in the order of completion, or in source order with <see cref="ParallelRunOptions.OrderedOutput"/>. Nothing runs before the
    /// first step, and each enumeration is a run of its own.
    /// </returns>
    /// <exception cref="ArgumentNullException"><paramref name="source"/>, <paramref name="batchSelector"/> or <paramref name="partitionBy"/> is <see langword="null"/>. Thrown at the call.</exception>
    /// <exception cref="ArgumentOutOfRangeException"><paramref name="batchSize"/> is less than 1, <paramref name="batchTimeout"/> is not more than zero, or a value of <paramref name="options"/> is out of its range. Thrown at the call.</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled; in every <see cref="ErrorMode"/>, and with that token.</exception>
    /// <exception cref="ItemsFailedException">Items failed under <see cref="ErrorMode.CollectAndContinue"/>. Under <see cref="ErrorMode.FailFast"/> the first item's own exception is thrown instead.</exception>
    /// <remarks>
    /// Options and hooks count batches as items. Leaving the enumeration early cancels what runs and waits for it.
    /// </remarks>
    public static IAsyncEnumerable<TResult> BatchParallelStreamAsync<TSource, TResult, TKey>(
        this ChannelReader<TSource> source,
        int batchSize,
        Func<IReadOnlyList<TSource>, CancellationToken, ValueTask<TResult>> batchSelector,
        Func<IReadOnlyList<TSource>, TKey> partitionBy,
        ParallelRunOptions? options = null,
        TimeSpan? batchTimeout = null,
        CancellationToken cancellationToken = default)
        where TKey : notnull
    {
        ArgumentNullException.ThrowIfNull(source);
        Require.AtLeastOne(batchSize, nameof(batchSize));
        ArgumentNullException.ThrowIfNull(batchSelector);
        ArgumentNullException.ThrowIfNull(partitionBy);
        batchTimeout = Require.NoneIfInfinite(batchTimeout);
        Require.Timeout(batchTimeout, nameof(batchTimeout));
        options ??= ParallelRunOptions.Default;
        options.Validate();
        return OperatorRun.Stream(
            () => Lanes.Of(new TimedBatchSource<TSource>(source.ReadAllAsync(CancellationToken.None), batchSize, batchTimeout, options.TimeProvider), partitionBy, options),
            batchSelector,
            options,
            cancellationToken);
    }
}
