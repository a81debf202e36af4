// Written by OverloadTextTests from the overloads for calls that return a ValueTask: change those, and run it with WEIR_ACCEPT_OVERLOADS=1.
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Threading.Channels;
using Weir.Operators;

namespace Weir;

/// <content>Side effects without results, of calls that take no token.</content>
public static partial class ParallelOperators
{
    /// <inheritdoc cref="ForEachParallelAsync{TSource}(IEnumerable{TSource}, Func{TSource, CancellationToken, ValueTask}, ParallelRunOptions,
    ///     CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Synchronous + (3 * Priority.Rank))]
    public static Task ForEachParallelAsync<TSource>(
        this IEnumerable<TSource> source,
        Func<TSource, ValueTask> action,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none) =>
        source.ForEachParallelAsync(TaskCalls.Action(action), options, cancellationToken);

    /// <inheritdoc cref="ForEachParallelAsync{TSource}(IAsyncEnumerable{TSource}, Func{TSource, CancellationToken, ValueTask}, ParallelRunOptions,
    ///     CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Asynchronous + (3 * Priority.Rank))]
    public static Task ForEachParallelAsync<TSource>(
        this IAsyncEnumerable<TSource> source,
        Func<TSource, ValueTask> action,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none) =>
        source.ForEachParallelAsync(TaskCalls.Action(action), options, cancellationToken);

    /// <inheritdoc cref="ForEachParallelAsync{TSource}(ChannelReader{TSource}, Func{TSource, CancellationToken, ValueTask}, ParallelRunOptions,
    ///     CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Synchronous + (3 * Priority.Rank))]
    public static Task ForEachParallelAsync<TSource>(
        this ChannelReader<TSource> source,
        Func<TSource, ValueTask> action,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none) =>
        source.ForEachParallelAsync(TaskCalls.Action(action), options, cancellationToken);

    /// <inheritdoc cref="ForEachParallelAsync{TSource, TKey}(IEnumerable{TSource}, Func{TSource, CancellationToken, ValueTask}, Func{TSource, TKey},
    ///     ParallelRunOptions, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Synchronous + (3 * Priority.Rank))]
    public static Task ForEachParallelAsync<TSource, TKey>(
        this IEnumerable<TSource> source,
        Func<TSource, ValueTask> action,
        Func<TSource, TKey> partitionBy,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none)
        where TKey : notnull =>
        source.ForEachParallelAsync(TaskCalls.Action(action), partitionBy, options, cancellationToken);

    /// <inheritdoc cref="ForEachParallelAsync{TSource, TKey}(IAsyncEnumerable{TSource}, Func{TSource, CancellationToken, ValueTask}, Func{TSource, TKey},
    ///     ParallelRunOptions, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Asynchronous + (3 * Priority.Rank))]
    public static Task ForEachParallelAsync<TSource, TKey>(
        this IAsyncEnumerable<TSource> source,
        Func<TSource, ValueTask> action,
        Func<TSource, TKey> partitionBy,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none)
        where TKey : notnull =>
        source.ForEachParallelAsync(TaskCalls.Action(action), partitionBy, options, cancellationToken);

    /// <inheritdoc cref="ForEachParallelAsync{TSource, TKey}(ChannelReader{TSource}, Func{TSource, CancellationToken, ValueTask}, Func{TSource, TKey},
    ///     ParallelRunOptions, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Synchronous + (3 * Priority.Rank))]
    public static Task ForEachParallelAsync<TSource, TKey>(
        this ChannelReader<TSource> source,
        Func<TSource, ValueTask> action,
        Func<TSource, TKey> partitionBy,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none)
        where TKey : notnull =>
        source.ForEachParallelAsync(TaskCalls.Action(action), partitionBy, options, cancellationToken);

    /// <inheritdoc cref="ForEachParallelAsync{TSource}(IEnumerable{TSource}, Func{TSource, CancellationToken, ValueTask}, ParallelRunOptions,
    ///     CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Synchronous + (4 * Priority.Rank))]
    public static Task ForEachParallelAsync<TSource>(
        this IEnumerable<TSource> source,
        Func<TSource, Task> action,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none) =>
        source.ForEachParallelAsync(TaskCalls.Action(action), options, cancellationToken);

    /// <inheritdoc cref="ForEachParallelAsync{TSource}(IAsyncEnumerable{TSource}, Func{TSource, CancellationToken, ValueTask}, ParallelRunOptions,
    ///     CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Asynchronous + (4 * Priority.Rank))]
    public static Task ForEachParallelAsync<TSource>(
        this IAsyncEnumerable<TSource> source,
        Func<TSource, Task> action,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none) =>
        source.ForEachParallelAsync(TaskCalls.Action(action), options, cancellationToken);

    /// <inheritdoc cref="ForEachParallelAsync{TSource}(ChannelReader{TSource}, Func{TSource, CancellationToken, ValueTask}, ParallelRunOptions,
    ///     CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Synchronous + (4 * Priority.Rank))]
    public static Task ForEachParallelAsync<TSource>(
        this ChannelReader<TSource> source,
        Func<TSource, Task> action,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none) =>
        source.ForEachParallelAsync(TaskCalls.Action(action), options, cancellationToken);

    /// <inheritdoc cref="ForEachParallelAsync{TSource, TKey}(IEnumerable{TSource}, Func{TSource, CancellationToken, ValueTask}, Func{TSource, TKey},
    ///     ParallelRunOptions, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Synchronous + (4 * Priority.Rank))]
    public static Task ForEachParallelAsync<TSource, TKey>(
        this IEnumerable<TSource> source,
        Func<TSource, Task> action,
        Func<TSource, TKey> partitionBy,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none)
        where TKey : notnull =>
        source.ForEachParallelAsync(TaskCalls.Action(action), partitionBy, options, cancellationToken);

    /// <inheritdoc cref="ForEachParallelAsync{TSource, TKey}(IAsyncEnumerable{TSource}, Func{TSource, CancellationToken, ValueTask}, Func{TSource, TKey},
    ///     ParallelRunOptions, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Asynchronous + (4 * Priority.Rank))]
    public static Task ForEachParallelAsync<TSource, TKey>(
        this IAsyncEnumerable<TSource> source,
        Func<TSource, Task> action,
        Func<TSource, TKey> partitionBy,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none)
        where TKey : notnull =>
        source.ForEachParallelAsync(TaskCalls.Action(action), partitionBy, options, cancellationToken);

    /// <inheritdoc cref="ForEachParallelAsync{TSource, TKey}(ChannelReader{TSource}, Func{TSource, CancellationToken, ValueTask}, Func{TSource, TKey},
    ///     ParallelRunOptions, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Synchronous + (4 * Priority.Rank))]
    public static Task ForEachParallelAsync<TSource, TKey>(
        this ChannelReader<TSource> source,
        Func<TSource, Task> action,
        Func<TSource, TKey> partitionBy,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none)
        where TKey : notnull =>
        source.ForEachParallelAsync(TaskCalls.Action(action), partitionBy, options, cancellationToken);
}
