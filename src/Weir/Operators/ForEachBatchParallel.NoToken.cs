// Written by OverloadTextTests from the overloads for calls that return a ValueTask: change those, and run it with WEIR_ACCEPT_OVERLOADS=1.
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Threading.Channels;
using Weir.Operators;

namespace Weir;

/// <content>Side effects of batches without results, of calls that take no token.</content>
public static partial class ParallelOperators
{
    /// <inheritdoc cref="ForEachBatchParallelAsync{TSource}(IEnumerable{TSource}, int, Func{IReadOnlyList{TSource}, CancellationToken, ValueTask},
    ///     ParallelRunOptions, TimeSpan?, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Synchronous + (3 * Priority.Rank))]
    public static Task ForEachBatchParallelAsync<TSource>(
        this IEnumerable<TSource> source,
        int batchSize,
        Func<IReadOnlyList<TSource>, ValueTask> batchAction,
        ParallelRunOptions? options = null,
        TimeSpan? batchTimeout = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none) =>
        source.ForEachBatchParallelAsync(batchSize, TaskCalls.Action(batchAction), options, batchTimeout, cancellationToken);

    /// <inheritdoc cref="ForEachBatchParallelAsync{TSource}(IAsyncEnumerable{TSource}, int, Func{IReadOnlyList{TSource}, CancellationToken, ValueTask},
    ///     ParallelRunOptions, TimeSpan?, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Asynchronous + (3 * Priority.Rank))]
    public static Task ForEachBatchParallelAsync<TSource>(
        this IAsyncEnumerable<TSource> source,
        int batchSize,
        Func<IReadOnlyList<TSource>, ValueTask> batchAction,
        ParallelRunOptions? options = null,
        TimeSpan? batchTimeout = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none) =>
        source.ForEachBatchParallelAsync(batchSize, TaskCalls.Action(batchAction), options, batchTimeout, cancellationToken);

    /// <inheritdoc cref="ForEachBatchParallelAsync{TSource}(ChannelReader{TSource}, int, Func{IReadOnlyList{TSource}, CancellationToken, ValueTask},
    ///     ParallelRunOptions, TimeSpan?, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Synchronous + (3 * Priority.Rank))]
    public static Task ForEachBatchParallelAsync<TSource>(
        this ChannelReader<TSource> source,
        int batchSize,
        Func<IReadOnlyList<TSource>, ValueTask> batchAction,
        ParallelRunOptions? options = null,
        TimeSpan? batchTimeout = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none) =>
        source.ForEachBatchParallelAsync(batchSize, TaskCalls.Action(batchAction), options, batchTimeout, cancellationToken);

    /// <inheritdoc cref="ForEachBatchParallelAsync{TSource, TKey}(IEnumerable{TSource}, int, Func{IReadOnlyList{TSource}, CancellationToken, ValueTask},
    ///     Func{IReadOnlyList{TSource}, TKey}, ParallelRunOptions, TimeSpan?, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Synchronous + (3 * Priority.Rank))]
    public static Task ForEachBatchParallelAsync<TSource, TKey>(
        this IEnumerable<TSource> source,
        int batchSize,
        Func<IReadOnlyList<TSource>, ValueTask> batchAction,
        Func<IReadOnlyList<TSource>, TKey> partitionBy,
        ParallelRunOptions? options = null,
        TimeSpan? batchTimeout = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none)
        where TKey : notnull =>
        source.ForEachBatchParallelAsync(batchSize, TaskCalls.Action(batchAction), partitionBy, options, batchTimeout, cancellationToken);

    /// <inheritdoc cref="ForEachBatchParallelAsync{TSource, TKey}(IAsyncEnumerable{TSource}, int, Func{IReadOnlyList{TSource}, CancellationToken, ValueTask},
    ///     Func{IReadOnlyList{TSource}, TKey}, ParallelRunOptions, TimeSpan?, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Asynchronous + (3 * Priority.Rank))]
    public static Task ForEachBatchParallelAsync<TSource, TKey>(
        this IAsyncEnumerable<TSource> source,
        int batchSize,
        Func<IReadOnlyList<TSource>, ValueTask> batchAction,
        Func<IReadOnlyList<TSource>, TKey> partitionBy,
        ParallelRunOptions? options = null,
        TimeSpan? batchTimeout = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none)
        where TKey : notnull =>
        source.ForEachBatchParallelAsync(batchSize, TaskCalls.Action(batchAction), partitionBy, options, batchTimeout, cancellationToken);

    /// <inheritdoc cref="ForEachBatchParallelAsync{TSource, TKey}(ChannelReader{TSource}, int, Func{IReadOnlyList{TSource}, CancellationToken, ValueTask},
    ///     Func{IReadOnlyList{TSource}, TKey}, ParallelRunOptions, TimeSpan?, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Synchronous + (3 * Priority.Rank))]
    public static Task ForEachBatchParallelAsync<TSource, TKey>(
        this ChannelReader<TSource> source,
        int batchSize,
        Func<IReadOnlyList<TSource>, ValueTask> batchAction,
        Func<IReadOnlyList<TSource>, TKey> partitionBy,
        ParallelRunOptions? options = null,
        TimeSpan? batchTimeout = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none)
        where TKey : notnull =>
        source.ForEachBatchParallelAsync(batchSize, TaskCalls.Action(batchAction), partitionBy, options, batchTimeout, cancellationToken);

    /// <inheritdoc cref="ForEachBatchParallelAsync{TSource}(IEnumerable{TSource}, int, Func{IReadOnlyList{TSource}, CancellationToken, ValueTask},
    ///     ParallelRunOptions, TimeSpan?, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Synchronous + (4 * Priority.Rank))]
    public static Task ForEachBatchParallelAsync<TSource>(
        this IEnumerable<TSource> source,
        int batchSize,
        Func<IReadOnlyList<TSource>, Task> batchAction,
        ParallelRunOptions? options = null,
        TimeSpan? batchTimeout = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none) =>
        source.ForEachBatchParallelAsync(batchSize, TaskCalls.Action(batchAction), options, batchTimeout, cancellationToken);

    /// <inheritdoc cref="ForEachBatchParallelAsync{TSource}(IAsyncEnumerable{TSource}, int, Func{IReadOnlyList{TSource}, CancellationToken, ValueTask},
    ///     ParallelRunOptions, TimeSpan?, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Asynchronous + (4 * Priority.Rank))]
    public static Task ForEachBatchParallelAsync<TSource>(
        this IAsyncEnumerable<TSource> source,
        int batchSize,
        Func<IReadOnlyList<TSource>, Task> batchAction,
        ParallelRunOptions? options = null,
        TimeSpan? batchTimeout = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none) =>
        source.ForEachBatchParallelAsync(batchSize, TaskCalls.Action(batchAction), options, batchTimeout, cancellationToken);

    /// <inheritdoc cref="ForEachBatchParallelAsync{TSource}(ChannelReader{TSource}, int, Func{IReadOnlyList{TSource}, CancellationToken, ValueTask},
    ///     ParallelRunOptions, TimeSpan?, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Synchronous + (4 * Priority.Rank))]
    public static Task ForEachBatchParallelAsync<TSource>(
        this ChannelReader<TSource> source,
        int batchSize,
        Func<IReadOnlyList<TSource>, Task> batchAction,
        ParallelRunOptions? options = null,
        TimeSpan? batchTimeout = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none) =>
        source.ForEachBatchParallelAsync(batchSize, TaskCalls.Action(batchAction), options, batchTimeout, cancellationToken);

    /// <inheritdoc cref="ForEachBatchParallelAsync{TSource, TKey}(IEnumerable{TSource}, int, Func{IReadOnlyList{TSource}, CancellationToken, ValueTask},
    ///     Func{IReadOnlyList{TSource}, TKey}, ParallelRunOptions, TimeSpan?, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Synchronous + (4 * Priority.Rank))]
    public static Task ForEachBatchParallelAsync<TSource, TKey>(
        this IEnumerable<TSource> source,
        int batchSize,
        Func<IReadOnlyList<TSource>, Task> batchAction,
        Func<IReadOnlyList<TSource>, TKey> partitionBy,
        ParallelRunOptions? options = null,
        TimeSpan? batchTimeout = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none)
        where TKey : notnull =>
        source.ForEachBatchParallelAsync(batchSize, TaskCalls.Action(batchAction), partitionBy, options, batchTimeout, cancellationToken);

    /// <inheritdoc cref="ForEachBatchParallelAsync{TSource, TKey}(IAsyncEnumerable{TSource}, int, Func{IReadOnlyList{TSource}, CancellationToken, ValueTask},
    ///     Func{IReadOnlyList{TSource}, TKey}, ParallelRunOptions, TimeSpan?, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Asynchronous + (4 * Priority.Rank))]
    public static Task ForEachBatchParallelAsync<TSource, TKey>(
        this IAsyncEnumerable<TSource> source,
        int batchSize,
        Func<IReadOnlyList<TSource>, Task> batchAction,
        Func<IReadOnlyList<TSource>, TKey> partitionBy,
        ParallelRunOptions? options = null,
        TimeSpan? batchTimeout = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none)
        where TKey : notnull =>
        source.ForEachBatchParallelAsync(batchSize, TaskCalls.Action(batchAction), partitionBy, options, batchTimeout, cancellationToken);

    /// <inheritdoc cref="ForEachBatchParallelAsync{TSource, TKey}(ChannelReader{TSource}, int, Func{IReadOnlyList{TSource}, CancellationToken, ValueTask},
    ///     Func{IReadOnlyList{TSource}, TKey}, ParallelRunOptions, TimeSpan?, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Synchronous + (4 * Priority.Rank))]
    public static Task ForEachBatchParallelAsync<TSource, TKey>(
        this ChannelReader<TSource> source,
        int batchSize,
        Func<IReadOnlyList<TSource>, Task> batchAction,
        Func<IReadOnlyList<TSource>, TKey> partitionBy,
        ParallelRunOptions? options = null,
        TimeSpan? batchTimeout = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none)
        where TKey : notnull =>
        source.ForEachBatchParallelAsync(batchSize, TaskCalls.Action(batchAction), partitionBy, options, batchTimeout, cancellationToken);
}
