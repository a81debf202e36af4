// Written by OverloadTextTests from the overloads for calls that return a ValueTask: change those, and run it with WEIR_ACCEPT_OVERLOADS=1.
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Threading.Channels;
using Weir.Operators;

namespace Weir;

/// <content>Side effects without results, of calls that return a value task with a result, which is discarded.</content>
public static partial class ParallelOperators
{
    /// <inheritdoc cref="ForEachParallelAsync{TSource}(IEnumerable{TSource}, Func{TSource, CancellationToken, ValueTask}, ParallelRunOptions,
    ///     CancellationToken)"/>
    /// <typeparam name="TSource">The type of the items.</typeparam>
    /// <typeparam name="TResult">The type of the results, which are discarded.</typeparam>
    [OverloadResolutionPriority(Priority.Synchronous + (2 * Priority.Rank))]
    public static Task ForEachParallelAsync<TSource, TResult>(
        this IEnumerable<TSource> source,
        Func<TSource, CancellationToken, ValueTask<TResult>> action,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none) =>
        source.ForEachParallelAsync(TaskCalls.Action(action), options, cancellationToken);

    /// <inheritdoc cref="ForEachParallelAsync{TSource}(IAsyncEnumerable{TSource}, Func{TSource, CancellationToken, ValueTask}, ParallelRunOptions,
    ///     CancellationToken)"/>
    /// <typeparam name="TSource">The type of the items.</typeparam>
    /// <typeparam name="TResult">The type of the results, which are discarded.</typeparam>
    [OverloadResolutionPriority(Priority.Asynchronous + (2 * Priority.Rank))]
    public static Task ForEachParallelAsync<TSource, TResult>(
        this IAsyncEnumerable<TSource> source,
        Func<TSource, CancellationToken, ValueTask<TResult>> action,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none) =>
        source.ForEachParallelAsync(TaskCalls.Action(action), options, cancellationToken);

    /// <inheritdoc cref="ForEachParallelAsync{TSource}(ChannelReader{TSource}, Func{TSource, CancellationToken, ValueTask}, ParallelRunOptions,
    ///     CancellationToken)"/>
    /// <typeparam name="TSource">The type of the items.</typeparam>
    /// <typeparam name="TResult">The type of the results, which are discarded.</typeparam>
    [OverloadResolutionPriority(Priority.Synchronous + (2 * Priority.Rank))]
    public static Task ForEachParallelAsync<TSource, TResult>(
        this ChannelReader<TSource> source,
        Func<TSource, CancellationToken, ValueTask<TResult>> action,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none) =>
        source.ForEachParallelAsync(TaskCalls.Action(action), options, cancellationToken);

    /// <inheritdoc cref="ForEachParallelAsync{TSource, TKey}(IEnumerable{TSource}, Func{TSource, CancellationToken, ValueTask}, Func{TSource, TKey},
    ///     ParallelRunOptions, CancellationToken)"/>
    /// <typeparam name="TSource">The type of the items.</typeparam>
    /// <typeparam name="TKey">The type of the keys.</typeparam>
    /// <typeparam name="TResult">The type of the results, which are discarded.</typeparam>
    [OverloadResolutionPriority(Priority.Synchronous + (2 * Priority.Rank))]
    public static Task ForEachParallelAsync<TSource, TKey, TResult>(
        this IEnumerable<TSource> source,
        Func<TSource, CancellationToken, ValueTask<TResult>> action,
        Func<TSource, TKey> partitionBy,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none)
        where TKey : notnull =>
        source.ForEachParallelAsync(TaskCalls.Action(action), partitionBy, options, cancellationToken);

    /// <inheritdoc cref="ForEachParallelAsync{TSource, TKey}(IAsyncEnumerable{TSource}, Func{TSource, CancellationToken, ValueTask}, Func{TSource, TKey},
    ///     ParallelRunOptions, CancellationToken)"/>
    /// <typeparam name="TSource">The type of the items.</typeparam>
    /// <typeparam name="TKey">The type of the keys.</typeparam>
    /// <typeparam name="TResult">The type of the results, which are discarded.</typeparam>
    [OverloadResolutionPriority(Priority.Asynchronous + (2 * Priority.Rank))]
    public static Task ForEachParallelAsync<TSource, TKey, TResult>(
        this IAsyncEnumerable<TSource> source,
        Func<TSource, CancellationToken, ValueTask<TResult>> action,
        Func<TSource, TKey> partitionBy,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none)
        where TKey : notnull =>
        source.ForEachParallelAsync(TaskCalls.Action(action), partitionBy, options, cancellationToken);

    /// <inheritdoc cref="ForEachParallelAsync{TSource, TKey}(ChannelReader{TSource}, Func{TSource, CancellationToken, ValueTask}, Func{TSource, TKey},
    ///     ParallelRunOptions, CancellationToken)"/>
    /// <typeparam name="TSource">The type of the items.</typeparam>
    /// <typeparam name="TKey">The type of the keys.</typeparam>
    /// <typeparam name="TResult">The type of the results, which are discarded.</typeparam>
    [OverloadResolutionPriority(Priority.Synchronous + (2 * Priority.Rank))]
    public static Task ForEachParallelAsync<TSource, TKey, TResult>(
        this ChannelReader<TSource> source,
        Func<TSource, CancellationToken, ValueTask<TResult>> action,
        Func<TSource, TKey> partitionBy,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none)
        where TKey : notnull =>
        source.ForEachParallelAsync(TaskCalls.Action(action), partitionBy, options, cancellationToken);

    /// <inheritdoc cref="ForEachParallelAsync{TSource}(IEnumerable{TSource}, Func{TSource, CancellationToken, ValueTask}, ParallelRunOptions,
    ///     CancellationToken)"/>
    /// <typeparam name="TSource">The type of the items.</typeparam>
    /// <typeparam name="TResult">The type of the results, which are discarded.</typeparam>
    [OverloadResolutionPriority(Priority.Synchronous + (5 * Priority.Rank))]
    public static Task ForEachParallelAsync<TSource, TResult>(
        this IEnumerable<TSource> source,
        Func<TSource, ValueTask<TResult>> action,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none) =>
        source.ForEachParallelAsync(TaskCalls.Action(action), options, cancellationToken);

    /// <inheritdoc cref="ForEachParallelAsync{TSource}(IAsyncEnumerable{TSource}, Func{TSource, CancellationToken, ValueTask}, ParallelRunOptions,
    ///     CancellationToken)"/>
    /// <typeparam name="TSource">The type of the items.</typeparam>
    /// <typeparam name="TResult">The type of the results, which are discarded.</typeparam>
    [OverloadResolutionPriority(Priority.Asynchronous + (5 * Priority.Rank))]
    public static Task ForEachParallelAsync<TSource, TResult>(
        this IAsyncEnumerable<TSource> source,
        Func<TSource, ValueTask<TResult>> action,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none) =>
        source.ForEachParallelAsync(TaskCalls.Action(action), options, cancellationToken);

    /// <inheritdoc cref="ForEachParallelAsync{TSource}(ChannelReader{TSource}, Func{TSource, CancellationToken, ValueTask}, ParallelRunOptions,
    ///     CancellationToken)"/>
    /// <typeparam name="TSource">The type of the items.</typeparam>
    /// <typeparam name="TResult">The type of the results, which are discarded.</typeparam>
    [OverloadResolutionPriority(Priority.Synchronous + (5 * Priority.Rank))]
    public static Task ForEachParallelAsync<TSource, TResult>(
        this ChannelReader<TSource> source,
        Func<TSource, ValueTask<TResult>> action,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none) =>
        source.ForEachParallelAsync(TaskCalls.Action(action), options, cancellationToken);

    /// <inheritdoc cref="ForEachParallelAsync{TSource, TKey}(IEnumerable{TSource}, Func{TSource, CancellationToken, ValueTask}, Func{TSource, TKey},
    ///     ParallelRunOptions, CancellationToken)"/>
    /// <typeparam name="TSource">The type of the items.</typeparam>
    /// <typeparam name="TKey">The type of the keys.</typeparam>
    /// <typeparam name="TResult">The type of the results, which are discarded.</typeparam>
    [OverloadResolutionPriority(Priority.Synchronous + (5 * Priority.Rank))]
    public static Task ForEachParallelAsync<TSource, TKey, TResult>(
        this IEnumerable<TSource> source,
        Func<TSource, ValueTask<TResult>> action,
        Func<TSource, TKey> partitionBy,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none)
        where TKey : notnull =>
        source.ForEachParallelAsync(TaskCalls.Action(action), partitionBy, options, cancellationToken);

    /// <inheritdoc cref="ForEachParallelAsync{TSource, TKey}(IAsyncEnumerable{TSource}, Func{TSource, CancellationToken, ValueTask}, Func{TSource, TKey},
    ///     ParallelRunOptions, CancellationToken)"/>
    /// <typeparam name="TSource">The type of the items.</typeparam>
    /// <typeparam name="TKey">The type of the keys.</typeparam>
    /// <typeparam name="TResult">The type of the results, which are discarded.</typeparam>
    [OverloadResolutionPriority(Priority.Asynchronous + (5 * Priority.Rank))]
    public static Task ForEachParallelAsync<TSource, TKey, TResult>(
        this IAsyncEnumerable<TSource> source,
        Func<TSource, ValueTask<TResult>> action,
        Func<TSource, TKey> partitionBy,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none)
        where TKey : notnull =>
        source.ForEachParallelAsync(TaskCalls.Action(action), partitionBy, options, cancellationToken);

    /// <inheritdoc cref="ForEachParallelAsync{TSource, TKey}(ChannelReader{TSource}, Func{TSource, CancellationToken, ValueTask}, Func{TSource, TKey},
    ///     ParallelRunOptions, CancellationToken)"/>
    /// <typeparam name="TSource">The type of the items.</typeparam>
    /// <typeparam name="TKey">The type of the keys.</typeparam>
    /// <typeparam name="TResult">The type of the results, which are discarded.</typeparam>
    [OverloadResolutionPriority(Priority.Synchronous + (5 * Priority.Rank))]
    public static Task ForEachParallelAsync<TSource, TKey, TResult>(
        this ChannelReader<TSource> source,
        Func<TSource, ValueTask<TResult>> action,
        Func<TSource, TKey> partitionBy,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none)
        where TKey : notnull =>
        source.ForEachParallelAsync(TaskCalls.Action(action), partitionBy, options, cancellationToken);
}
