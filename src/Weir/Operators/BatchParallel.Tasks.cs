// Written by OverloadTextTests from the overloads for calls that return a ValueTask: change those, and run it with WEIR_ACCEPT_OVERLOADS=1.
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Threading.Channels;
using Weir.Operators;

namespace Weir;

/// <content>Results of batches as a list, of calls that return a <see cref="Task"/>.</content>
public static partial class ParallelOperators
{
    /// <inheritdoc cref="BatchParallelAsync{TSource, TResult}(IEnumerable{TSource}, int, Func{IReadOnlyList{TSource}, CancellationToken, ValueTask{TResult}},
    ///     ParallelRunOptions, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Synchronous + Priority.Rank)]
    public static Task<List<TResult>> BatchParallelAsync<TSource, TResult>(
        this IEnumerable<TSource> source,
        int batchSize,
        Func<IReadOnlyList<TSource>, CancellationToken, Task<TResult>> batchSelector,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default,
        params Missing[] none) =>
        source.BatchParallelAsync(batchSize, TaskCalls.Selector(batchSelector), options, cancellationToken);

    /// <inheritdoc cref="BatchParallelAsync{TSource, TResult}(IAsyncEnumerable{TSource}, int, Func{IReadOnlyList{TSource}, CancellationToken,
    ///     ValueTask{TResult}}, ParallelRunOptions, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Asynchronous + Priority.Rank)]
    public static Task<List<TResult>> BatchParallelAsync<TSource, TResult>(
        this IAsyncEnumerable<TSource> source,
        int batchSize,
        Func<IReadOnlyList<TSource>, CancellationToken, Task<TResult>> batchSelector,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default,
        params Missing[] none) =>
        source.BatchParallelAsync(batchSize, TaskCalls.Selector(batchSelector), options, cancellationToken);

    /// <inheritdoc cref="BatchParallelAsync{TSource, TResult}(ChannelReader{TSource}, int, Func{IReadOnlyList{TSource}, CancellationToken, ValueTask{TResult}},
    ///     ParallelRunOptions, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Synchronous + Priority.Rank)]
    public static Task<List<TResult>> BatchParallelAsync<TSource, TResult>(
        this ChannelReader<TSource> source,
        int batchSize,
        Func<IReadOnlyList<TSource>, CancellationToken, Task<TResult>> batchSelector,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default,
        params Missing[] none) =>
        source.BatchParallelAsync(batchSize, TaskCalls.Selector(batchSelector), options, cancellationToken);

    /// <inheritdoc cref="BatchParallelAsync{TSource, TResult, TKey}(IEnumerable{TSource}, int, Func{IReadOnlyList{TSource}, CancellationToken,
    ///     ValueTask{TResult}}, Func{IReadOnlyList{TSource}, TKey}, ParallelRunOptions, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Synchronous + Priority.Rank)]
    public static Task<List<TResult>> BatchParallelAsync<TSource, TResult, TKey>(
        this IEnumerable<TSource> source,
        int batchSize,
        Func<IReadOnlyList<TSource>, CancellationToken, Task<TResult>> batchSelector,
        Func<IReadOnlyList<TSource>, TKey> partitionBy,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default,
        params Missing[] none)
        where TKey : notnull =>
        source.BatchParallelAsync(batchSize, TaskCalls.Selector(batchSelector), partitionBy, options, cancellationToken);

    /// <inheritdoc cref="BatchParallelAsync{TSource, TResult, TKey}(IAsyncEnumerable{TSource}, int, Func{IReadOnlyList{TSource}, CancellationToken,
    ///     ValueTask{TResult}}, Func{IReadOnlyList{TSource}, TKey}, ParallelRunOptions, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Asynchronous + Priority.Rank)]
    public static Task<List<TResult>> BatchParallelAsync<TSource, TResult, TKey>(
        this IAsyncEnumerable<TSource> source,
        int batchSize,
        Func<IReadOnlyList<TSource>, CancellationToken, Task<TResult>> batchSelector,
        Func<IReadOnlyList<TSource>, TKey> partitionBy,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default,
        params Missing[] none)
        where TKey : notnull =>
        source.BatchParallelAsync(batchSize, TaskCalls.Selector(batchSelector), partitionBy, options, cancellationToken);

    /// <inheritdoc cref="BatchParallelAsync{TSource, TResult, TKey}(ChannelReader{TSource}, int, Func{IReadOnlyList{TSource}, CancellationToken,
    ///     ValueTask{TResult}}, Func{IReadOnlyList{TSource}, TKey}, ParallelRunOptions, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Synchronous + Priority.Rank)]
    public static Task<List<TResult>> BatchParallelAsync<TSource, TResult, TKey>(
        this ChannelReader<TSource> source,
        int batchSize,
        Func<IReadOnlyList<TSource>, CancellationToken, Task<TResult>> batchSelector,
        Func<IReadOnlyList<TSource>, TKey> partitionBy,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default,
        params Missing[] none)
        where TKey : notnull =>
        source.BatchParallelAsync(batchSize, TaskCalls.Selector(batchSelector), partitionBy, options, cancellationToken);
}
