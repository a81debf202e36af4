using System.Runtime.CompilerServices;
using System.Threading.Channels;
using Weir.Core.Sources;
using Weir.Operators;

namespace Weir;

/// <content>Partitioned: Results of batches as a list.</content>
public static partial class ParallelOperators
{
    /// <summary>Cuts <paramref name="source"/> into batches and runs <paramref name="batchSelector"/> for several of them at a time.</summary>
    /// <typeparam name="TSource">The type of the items.</typeparam>
    /// <typeparam name="TResult">The type of a batch's result.</typeparam>
    /// <typeparam name="TKey">The type of the keys.</typeparam>
    /// <param name="source">The items. Arrays and lists are read in place and must not change during the run. Other sequences are read by one worker at a time, as items are wanted; never the whole sequence ahead.</param>
    /// <param name="batchSize">How many items a batch has; the last one may have fewer. At least 1.</param>
    /// <param name="batchSelector">The call for a batch, which owns the list it is given. Runs on the thread pool, for several batches at once.</param>
    /// <param name="partitionBy">
    /// The key of a batch. Batches of one key run one at a time and in source order (or <see cref="ParallelRunOptions.MaxPerPartition"/> at a time); those of other keys pass them. Called once a batch, by one
    /// worker at a time; an exception from it, or a null key, is a failure of the source.
    /// </param>
    /// <param name="options">How to run; <see langword="null"/> for the defaults.</param>
    /// <param name="cancellationToken">Cancels the run. The token given to <paramref name="batchSelector"/> is cancelled by it, and whenever the run stops.</param>
    /// <returns>One result per batch, in source order; failed batches are left out under <see cref="ErrorMode.BestEffort"/>.</returns>
    /// <exception cref="ArgumentNullException"><paramref name="source"/>, <paramref name="batchSelector"/> or <paramref name="partitionBy"/> is <see langword="null"/>. Thrown at the call.</exception>
    /// <exception cref="ArgumentOutOfRangeException"><paramref name="batchSize"/> is less than 1, or a value of <paramref name="options"/> is out of its range. Thrown at the call.</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled; in every <see cref="ErrorMode"/>, and with that token.</exception>
    /// <exception cref="ItemsFailedException{TResult}">Items failed under <see cref="ErrorMode.CollectAndContinue"/>. Under <see cref="ErrorMode.FailFast"/> the first item's own exception is thrown instead.</exception>
    /// <remarks>Options and hooks count batches as items. Only the batches in flight exist at any time. Safe to call from several threads.</remarks>
    public static Task<List<TResult>> BatchParallelAsync<TSource, TResult, TKey>(
        this IEnumerable<TSource> source,
        int batchSize,
        Func<IReadOnlyList<TSource>, CancellationToken, ValueTask<TResult>> batchSelector,
        Func<IReadOnlyList<TSource>, TKey> partitionBy,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default)
        where TKey : notnull
    {
        ArgumentNullException.ThrowIfNull(source);
        Require.AtLeastOne(batchSize, nameof(batchSize));
        ArgumentNullException.ThrowIfNull(batchSelector);
        ArgumentNullException.ThrowIfNull(partitionBy);
        options ??= ParallelRunOptions.Default;
        options.Validate();
        return OperatorRun.List(Lanes.Of(Batches.Enumerable(source, batchSize), partitionBy, options), batchSelector, options, cancellationToken);
    }

    /// <summary>Cuts <paramref name="source"/> into batches and runs <paramref name="batchSelector"/> for several of them at a time.</summary>
    /// <typeparam name="TSource">The type of the items.</typeparam>
    /// <typeparam name="TResult">The type of a batch's result.</typeparam>
    /// <typeparam name="TKey">The type of the keys.</typeparam>
    /// <param name="source">The items. The sequence is advanced by one worker at a time, as items are wanted.</param>
    /// <param name="batchSize">How many items a batch has; the last one may have fewer. At least 1.</param>
    /// <param name="batchSelector">The call for a batch, which owns the list it is given. Runs on the thread pool, for several batches at once.</param>
    /// <param name="partitionBy">
    /// The key of a batch. Batches of one key run one at a time and in source order (or <see cref="ParallelRunOptions.MaxPerPartition"/> at a time); those of other keys pass them. Called once a batch, by one
    /// worker at a time; an exception from it, or a null key, is a failure of the source.
    /// </param>
    /// <param name="options">How to run; <see langword="null"/> for the defaults.</param>
    /// <param name="cancellationToken">Cancels the run. The token given to <paramref name="batchSelector"/> is cancelled by it, and whenever the run stops.</param>
    /// <returns>One result per batch, in source order; failed batches are left out under <see cref="ErrorMode.BestEffort"/>.</returns>
    /// <exception cref="ArgumentNullException"><paramref name="source"/>, <paramref name="batchSelector"/> or <paramref name="partitionBy"/> is <see langword="null"/>. Thrown at the call.</exception>
    /// <exception cref="ArgumentOutOfRangeException"><paramref name="batchSize"/> is less than 1, or a value of <paramref name="options"/> is out of its range. Thrown at the call.</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled; in every <see cref="ErrorMode"/>, and with that token.</exception>
    /// <exception cref="ItemsFailedException{TResult}">Items failed under <see cref="ErrorMode.CollectAndContinue"/>. Under <see cref="ErrorMode.FailFast"/> the first item's own exception is thrown instead.</exception>
    /// <remarks>Options and hooks count batches as items. Only the batches in flight exist at any time. Safe to call from several threads.</remarks>
    [OverloadResolutionPriority(Priority.Asynchronous)]
    public static Task<List<TResult>> BatchParallelAsync<TSource, TResult, TKey>(
        this IAsyncEnumerable<TSource> source,
        int batchSize,
        Func<IReadOnlyList<TSource>, CancellationToken, ValueTask<TResult>> batchSelector,
        Func<IReadOnlyList<TSource>, TKey> partitionBy,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default)
        where TKey : notnull
    {
        ArgumentNullException.ThrowIfNull(source);
        Require.AtLeastOne(batchSize, nameof(batchSize));
        ArgumentNullException.ThrowIfNull(batchSelector);
        ArgumentNullException.ThrowIfNull(partitionBy);
        options ??= ParallelRunOptions.Default;
        options.Validate();
        return OperatorRun.List(Lanes.Of(new TimedBatchSource<TSource>(source, batchSize, null, options.TimeProvider), partitionBy, options), batchSelector, options, cancellationToken);
    }

    /// <summary>Cuts <paramref name="source"/> into batches and runs <paramref name="batchSelector"/> for several of them at a time.</summary>
    /// <typeparam name="TSource">The type of the items.</typeparam>
    /// <typeparam name="TResult">The type of a batch's result.</typeparam>
    /// <typeparam name="TKey">The type of the keys.</typeparam>
    /// <param name="source">The items. The channel is read by one worker at a time until it is completed, so a channel made for a single reader may be given.</param>
    /// <param name="batchSize">How many items a batch has; the last one may have fewer. At least 1.</param>
    /// <param name="batchSelector">The call for a batch, which owns the list it is given. Runs on the thread pool, for several batches at once.</param>
    /// <param name="partitionBy">
    /// The key of a batch. Batches of one key run one at a time and in source order (or <see cref="ParallelRunOptions.MaxPerPartition"/> at a time); those of other keys pass them. Called once a batch, by one
    /// worker at a time; an exception from it, or a null key, is a failure of the source.
    /// </param>
    /// <param name="options">How to run; <see langword="null"/> for the defaults.</param>
    /// <param name="cancellationToken">Cancels the run. The token given to <paramref name="batchSelector"/> is cancelled by it, and whenever the run stops.</param>
    /// <returns>One result per batch, in source order; failed batches are left out under <see cref="ErrorMode.BestEffort"/>.</returns>
    /// <exception cref="ArgumentNullException"><paramref name="source"/>, <paramref name="batchSelector"/> or <paramref name="partitionBy"/> is <see langword="null"/>. Thrown at the call.</exception>
    /// <exception cref="ArgumentOutOfRangeException"><paramref name="batchSize"/> is less than 1, or a value of <paramref name="options"/> is out of its range. Thrown at the call.</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled; in every <see cref="ErrorMode"/>, and with that token.</exception>
    /// <exception cref="ItemsFailedException{TResult}">Items failed under <see cref="ErrorMode.CollectAndContinue"/>. Under <see cref="ErrorMode.FailFast"/> the first item's own exception is thrown instead.</exception>
    /// <remarks>Options and hooks count batches as items. Only the batches in flight exist at any time. Safe to call from several threads.</remarks>
    public static Task<List<TResult>> BatchParallelAsync<TSource, TResult, TKey>(
        this ChannelReader<TSource> source,
        int batchSize,
        Func<IReadOnlyList<TSource>, CancellationToken, ValueTask<TResult>> batchSelector,
        Func<IReadOnlyList<TSource>, TKey> partitionBy,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default)
        where TKey : notnull
    {
        ArgumentNullException.ThrowIfNull(source);
        Require.AtLeastOne(batchSize, nameof(batchSize));
        ArgumentNullException.ThrowIfNull(batchSelector);
        ArgumentNullException.ThrowIfNull(partitionBy);
        options ??= ParallelRunOptions.Default;
        options.Validate();
        return OperatorRun.List(Lanes.Of(new TimedBatchSource<TSource>(source.ReadAllAsync(CancellationToken.None), batchSize, null, options.TimeProvider), partitionBy, options), batchSelector, options, cancellationToken);
    }
}
