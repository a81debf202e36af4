// Written by OverloadTextTests from the overloads for calls that return a ValueTask: change those, and run it with WEIR_ACCEPT_OVERLOADS=1.
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Threading.Channels;
using Weir.Operators;

namespace Weir;

/// <content>Side effects of batches without results, of calls that return a value task with a result, which is discarded.</content>
public static partial class ParallelOperators
{
    /// <inheritdoc cref="ForEachBatchParallelAsync{TSource}(IEnumerable{TSource}, int, Func{IReadOnlyList{TSource}, CancellationToken, ValueTask},
    ///     ParallelRunOptions, TimeSpan?, CancellationToken)"/>
    /// <typeparam name="TSource">The type of the items.</typeparam>
    /// <typeparam name="TResult">The type of the results, which are discarded.</typeparam>
    [OverloadResolutionPriority(Priority.Synchronous + (2 * Priority.Rank))]
    public static Task ForEachBatchParallelAsync<TSource, TResult>(
        this IEnumerable<TSource> source,
        int batchSize,
        Func<IReadOnlyList<TSource>, CancellationToken, ValueTask<TResult>> batchAction,
        ParallelRunOptions? options = null,
        TimeSpan? batchTimeout = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none) =>
        source.ForEachBatchParallelAsync(batchSize, TaskCalls.Action(batchAction), options, batchTimeout, cancellationToken);

    /// <inheritdoc cref="ForEachBatchParallelAsync{TSource}(IAsyncEnumerable{TSource}, int, Func{IReadOnlyList{TSource}, CancellationToken, ValueTask},
    ///     ParallelRunOptions, TimeSpan?, CancellationToken)"/>
    /// <typeparam name="TSource">The type of the items.</typeparam>
    /// <typeparam name="TResult">The type of the results, which are discarded.</typeparam>
    [OverloadResolutionPriority(Priority.Asynchronous + (2 * Priority.Rank))]
    public static Task ForEachBatchParallelAsync<TSource, TResult>(
        this IAsyncEnumerable<TSource> source,
        int batchSize,
        Func<IReadOnlyList<TSource>, CancellationToken, ValueTask<TResult>> batchAction,
        ParallelRunOptions? options = null,
        TimeSpan? batchTimeout = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none) =>
        source.ForEachBatchParallelAsync(batchSize, TaskCalls.Action(batchAction), options, batchTimeout, cancellationToken);

    /// <inheritdoc cref="ForEachBatchParallelAsync{TSource}(ChannelReader{TSource}, int, Func{IReadOnlyList{TSource}, CancellationToken, ValueTask},
    ///     ParallelRunOptions, TimeSpan?, CancellationToken)"/>
    /// <typeparam name="TSource">The type of the items.</typeparam>
    /// <typeparam name="TResult">The type of the results, which are discarded.</typeparam>
    [OverloadResolutionPriority(Priority.Synchronous + (2 * Priority.Rank))]
    public static Task ForEachBatchParallelAsync<TSource, TResult>(
        this ChannelReader<TSource> source,
        int batchSize,
        Func<IReadOnlyList<TSource>, CancellationToken, ValueTask<TResult>> batchAction,
        ParallelRunOptions? options = null,
        TimeSpan? batchTimeout = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none) =>
        source.ForEachBatchParallelAsync(batchSize, TaskCalls.Action(batchAction), options, batchTimeout, cancellationToken);

    /// <inheritdoc cref="ForEachBatchParallelAsync{TSource, TKey}(IEnumerable{TSource}, int, Func{IReadOnlyList{TSource}, CancellationToken, ValueTask},
    ///     Func{IReadOnlyList{TSource}, TKey}, ParallelRunOptions, TimeSpan?, CancellationToken)"/>
    /// <typeparam name="TSource">The type of the items.</typeparam>
    /// <typeparam name="TKey">The type of the keys.</typeparam>
    /// <typeparam name="TResult">The type of the results, which are discarded.</typeparam>
    [OverloadResolutionPriority(Priority.Synchronous + (2 * Priority.Rank))]
    public static Task ForEachBatchParallelAsync<TSource, TKey, TResult>(
        this IEnumerable<TSource> source,
        int batchSize,
        Func<IReadOnlyList<TSource>, CancellationToken, ValueTask<TResult>> batchAction,
        Func<IReadOnlyList<TSource>, TKey> partitionBy,
        ParallelRunOptions? options = null,
        TimeSpan? batchTimeout = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none)
        where TKey : notnull =>
        source.ForEachBatchParallelAsync(batchSize, TaskCalls.Action(batchAction), partitionBy, options, batchTimeout, cancellationToken);

    /// <inheritdoc cref="ForEachBatchParallelAsync{TSource, TKey}(IAsyncEnumerable{TSource}, int, Func{IReadOnlyList{TSource}, CancellationToken, ValueTask},
    ///     Func{IReadOnlyList{TSource}, TKey}, ParallelRunOptions, TimeSpan?, CancellationToken)"/>
    /// <typeparam name="TSource">The type of the items.</typeparam>
    /// <typeparam name="TKey">The type of the keys.</typeparam>
    /// <typeparam name="TResult">The type of the results, which are discarded.</typeparam>
    [OverloadResolutionPriority(Priority.Asynchronous + (2 * Priority.Rank))]
    public static Task ForEachBatchParallelAsync<TSource, TKey, TResult>(
        this IAsyncEnumerable<TSource> source,
        int batchSize,
        Func<IReadOnlyList<TSource>, CancellationToken, ValueTask<TResult>> batchAction,
        Func<IReadOnlyList<TSource>, TKey> partitionBy,
        ParallelRunOptions? options = null,
        TimeSpan? batchTimeout = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none)
        where TKey : notnull =>
        source.ForEachBatchParallelAsync(batchSize, TaskCalls.Action(batchAction), partitionBy, options, batchTimeout, cancellationToken);

    /// <inheritdoc cref="ForEachBatchParallelAsync{TSource, TKey}(ChannelReader{TSource}, int, Func{IReadOnlyList{TSource}, CancellationToken, ValueTask},
    ///     Func{IReadOnlyList{TSource}, TKey}, ParallelRunOptions, TimeSpan?, CancellationToken)"/>
    /// <typeparam name="TSource">The type of the items.</typeparam>
    /// <typeparam name="TKey">The type of the keys.</typeparam>
    /// <typeparam name="TResult">The type of the results, which are discarded.</typeparam>
    [OverloadResolutionPriority(Priority.Synchronous + (2 * Priority.Rank))]
    public static Task ForEachBatchParallelAsync<TSource, TKey, TResult>(
        this ChannelReader<TSource> source,
        int batchSize,
        Func<IReadOnlyList<TSource>, CancellationToken, ValueTask<TResult>> batchAction,
        Func<IReadOnlyList<TSource>, TKey> partitionBy,
        ParallelRunOptions? options = null,
        TimeSpan? batchTimeout = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none)
        where TKey : notnull =>
        source.ForEachBatchParallelAsync(batchSize, TaskCalls.Action(batchAction), partitionBy, options, batchTimeout, cancellationToken);

    /// <inheritdoc cref="ForEachBatchParallelAsync{TSource}(IEnumerable{TSource}, int, Func{IReadOnlyList{TSource}, CancellationToken, ValueTask},
    ///     ParallelRunOptions, TimeSpan?, CancellationToken)"/>
    /// <typeparam name="TSource">The type of the items.</typeparam>
    /// <typeparam name="TResult">The type of the results, which are discarded.</typeparam>
    [OverloadResolutionPriority(Priority.Synchronous + (5 * Priority.Rank))]
    public static Task ForEachBatchParallelAsync<TSource, TResult>(
        this IEnumerable<TSource> source,
        int batchSize,
        Func<IReadOnlyList<TSource>, ValueTask<TResult>> batchAction,
        ParallelRunOptions? options = null,
        TimeSpan? batchTimeout = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none) =>
        source.ForEachBatchParallelAsync(batchSize, TaskCalls.Action(batchAction), options, batchTimeout, cancellationToken);

    /// <inheritdoc cref="ForEachBatchParallelAsync{TSource}(IAsyncEnumerable{TSource}, int, Func{IReadOnlyList{TSource}, CancellationToken, ValueTask},
    ///     ParallelRunOptions, TimeSpan?, CancellationToken)"/>
    /// <typeparam name="TSource">The type of the items.</typeparam>
    /// <typeparam name="TResult">The type of the results, which are discarded.</typeparam>
    [OverloadResolutionPriority(Priority.Asynchronous + (5 * Priority.Rank))]
    public static Task ForEachBatchParallelAsync<TSource, TResult>(
        this IAsyncEnumerable<TSource> source,
        int batchSize,
        Func<IReadOnlyList<TSource>, ValueTask<TResult>> batchAction,
        ParallelRunOptions? options = null,
        TimeSpan? batchTimeout = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none) =>
        source.ForEachBatchParallelAsync(batchSize, TaskCalls.Action(batchAction), options, batchTimeout, cancellationToken);

    /// <inheritdoc cref="ForEachBatchParallelAsync{TSource}(ChannelReader{TSource}, int, Func{IReadOnlyList{TSource}, CancellationToken, ValueTask},
    ///     ParallelRunOptions, TimeSpan?, CancellationToken)"/>
    /// <typeparam name="TSource">The type of the items.</typeparam>
    /// <typeparam name="TResult">The type of the results, which are discarded.</typeparam>
    [OverloadResolutionPriority(Priority.Synchronous + (5 * Priority.Rank))]
    public static Task ForEachBatchParallelAsync<TSource, TResult>(
        this ChannelReader<TSource> source,
        int batchSize,
        Func<IReadOnlyList<TSource>, ValueTask<TResult>> batchAction,
        ParallelRunOptions? options = null,
        TimeSpan? batchTimeout = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none) =>
        source.ForEachBatchParallelAsync(batchSize, TaskCalls.Action(batchAction), options, batchTimeout, cancellationToken);

    /// <inheritdoc cref="ForEachBatchParallelAsync{TSource, TKey}(IEnumerable{TSource}, int, Func{IReadOnlyList{TSource}, CancellationToken, ValueTask},
    ///     Func{IReadOnlyList{TSource}, TKey}, ParallelRunOptions, TimeSpan?, CancellationToken)"/>
    /// <typeparam name="TSource">The type of the items.</typeparam>
    /// <typeparam name="TKey">The type of the keys.</typeparam>
    /// <typeparam name="TResult">The type of the results, which are discarded.</typeparam>
    [OverloadResolutionPriority(Priority.Synchronous + (5 * Priority.Rank))]
    public static Task ForEachBatchParallelAsync<TSource, TKey, TResult>(
        this IEnumerable<TSource> source,
        int batchSize,
        Func<IReadOnlyList<TSource>, ValueTask<TResult>> batchAction,
        Func<IReadOnlyList<TSource>, TKey> partitionBy,
        ParallelRunOptions? options = null,
        TimeSpan? batchTimeout = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none)
        where TKey : notnull =>
        source.ForEachBatchParallelAsync(batchSize, TaskCalls.Action(batchAction), partitionBy, options, batchTimeout, cancellationToken);

    /// <inheritdoc cref="ForEachBatchParallelAsync{TSource, TKey}(IAsyncEnumerable{TSource}, int, Func{IReadOnlyList{TSource}, CancellationToken, ValueTask},
    ///     Func{IReadOnlyList{TSource}, TKey}, ParallelRunOptions, TimeSpan?, CancellationToken)"/>
    /// <typeparam name="TSource">The type of the items.</typeparam>
    /// <typeparam name="TKey">The type of the keys.</typeparam>
    /// <typeparam name="TResult">The type of the results, which are discarded.</typeparam>
    [OverloadResolutionPriority(Priority.Asynchronous + (5 * Priority.Rank))]
    public static Task ForEachBatchParallelAsync<TSource, TKey, TResult>(
        this IAsyncEnumerable<TSource> source,
        int batchSize,
        Func<IReadOnlyList<TSource>, ValueTask<TResult>> batchAction,
        Func<IReadOnlyList<TSource>, TKey> partitionBy,
        ParallelRunOptions? options = null,
        TimeSpan? batchTimeout = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none)
        where TKey : notnull =>
        source.ForEachBatchParallelAsync(batchSize, TaskCalls.Action(batchAction), partitionBy, options, batchTimeout, cancellationToken);

    /// <inheritdoc cref="ForEachBatchParallelAsync{TSource, TKey}(ChannelReader{TSource}, int, Func{IReadOnlyList{TSource}, CancellationToken, ValueTask},
    ///     Func{IReadOnlyList{TSource}, TKey}, ParallelRunOptions, TimeSpan?, CancellationToken)"/>
    /// <typeparam name="TSource">The type of the items.</typeparam>
    /// <typeparam name="TKey">The type of the keys.</typeparam>
    /// <typeparam name="TResult">The type of the results, which are discarded.</typeparam>
    [OverloadResolutionPriority(Priority.Synchronous + (5 * Priority.Rank))]
    public static Task ForEachBatchParallelAsync<TSource, TKey, TResult>(
        this ChannelReader<TSource> source,
        int batchSize,
        Func<IReadOnlyList<TSource>, ValueTask<TResult>> batchAction,
        Func<IReadOnlyList<TSource>, TKey> partitionBy,
        ParallelRunOptions? options = null,
        TimeSpan? batchTimeout = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none)
        where TKey : notnull =>
        source.ForEachBatchParallelAsync(batchSize, TaskCalls.Action(batchAction), partitionBy, options, batchTimeout, cancellationToken);
}
