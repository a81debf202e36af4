// Written by OverloadTextTests from the overloads for calls that return a ValueTask: change those, and run it with WEIR_ACCEPT_OVERLOADS=1.
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Threading.Channels;
using Weir.Operators;

namespace Weir;

/// <content>Results as a list, of calls that take no token.</content>
public static partial class ParallelOperators
{
    /// <inheritdoc cref="SelectParallelAsync{TSource, TResult}(IEnumerable{TSource}, Func{TSource, CancellationToken, ValueTask{TResult}}, ParallelRunOptions,
    ///     CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Synchronous + (3 * Priority.Rank))]
    public static Task<List<TResult>> SelectParallelAsync<TSource, TResult>(
        this IEnumerable<TSource> source,
        Func<TSource, ValueTask<TResult>> selector,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none) =>
        source.SelectParallelAsync(TaskCalls.Selector(selector), options, cancellationToken);

    /// <inheritdoc cref="SelectParallelAsync{TSource, TResult}(IAsyncEnumerable{TSource}, Func{TSource, CancellationToken, ValueTask{TResult}},
    ///     ParallelRunOptions, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Asynchronous + (3 * Priority.Rank))]
    public static Task<List<TResult>> SelectParallelAsync<TSource, TResult>(
        this IAsyncEnumerable<TSource> source,
        Func<TSource, ValueTask<TResult>> selector,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none) =>
        source.SelectParallelAsync(TaskCalls.Selector(selector), options, cancellationToken);

    /// <inheritdoc cref="SelectParallelAsync{TSource, TResult}(ChannelReader{TSource}, Func{TSource, CancellationToken, ValueTask{TResult}},
    ///     ParallelRunOptions, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Synchronous + (3 * Priority.Rank))]
    public static Task<List<TResult>> SelectParallelAsync<TSource, TResult>(
        this ChannelReader<TSource> source,
        Func<TSource, ValueTask<TResult>> selector,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none) =>
        source.SelectParallelAsync(TaskCalls.Selector(selector), options, cancellationToken);

    /// <inheritdoc cref="SelectParallelAsync{TSource, TResult, TKey}(IEnumerable{TSource}, Func{TSource, CancellationToken, ValueTask{TResult}}, Func{TSource,
    ///     TKey}, ParallelRunOptions, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Synchronous + (3 * Priority.Rank))]
    public static Task<List<TResult>> SelectParallelAsync<TSource, TResult, TKey>(
        this IEnumerable<TSource> source,
        Func<TSource, ValueTask<TResult>> selector,
        Func<TSource, TKey> partitionBy,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none)
        where TKey : notnull =>
        source.SelectParallelAsync(TaskCalls.Selector(selector), partitionBy, options, cancellationToken);

    /// <inheritdoc cref="SelectParallelAsync{TSource, TResult, TKey}(IAsyncEnumerable{TSource}, Func{TSource, CancellationToken, ValueTask{TResult}},
    ///     Func{TSource, TKey}, ParallelRunOptions, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Asynchronous + (3 * Priority.Rank))]
    public static Task<List<TResult>> SelectParallelAsync<TSource, TResult, TKey>(
        this IAsyncEnumerable<TSource> source,
        Func<TSource, ValueTask<TResult>> selector,
        Func<TSource, TKey> partitionBy,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none)
        where TKey : notnull =>
        source.SelectParallelAsync(TaskCalls.Selector(selector), partitionBy, options, cancellationToken);

    /// <inheritdoc cref="SelectParallelAsync{TSource, TResult, TKey}(ChannelReader{TSource}, Func{TSource, CancellationToken, ValueTask{TResult}},
    ///     Func{TSource, TKey}, ParallelRunOptions, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Synchronous + (3 * Priority.Rank))]
    public static Task<List<TResult>> SelectParallelAsync<TSource, TResult, TKey>(
        this ChannelReader<TSource> source,
        Func<TSource, ValueTask<TResult>> selector,
        Func<TSource, TKey> partitionBy,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none)
        where TKey : notnull =>
        source.SelectParallelAsync(TaskCalls.Selector(selector), partitionBy, options, cancellationToken);

    /// <inheritdoc cref="SelectParallelAsync{TSource, TResult}(IEnumerable{TSource}, Func{TSource, CancellationToken, ValueTask{TResult}}, ParallelRunOptions,
    ///     CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Synchronous + (4 * Priority.Rank))]
    public static Task<List<TResult>> SelectParallelAsync<TSource, TResult>(
        this IEnumerable<TSource> source,
        Func<TSource, Task<TResult>> selector,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none) =>
        source.SelectParallelAsync(TaskCalls.Selector(selector), options, cancellationToken);

    /// <inheritdoc cref="SelectParallelAsync{TSource, TResult}(IAsyncEnumerable{TSource}, Func{TSource, CancellationToken, ValueTask{TResult}},
    ///     ParallelRunOptions, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Asynchronous + (4 * Priority.Rank))]
    public static Task<List<TResult>> SelectParallelAsync<TSource, TResult>(
        this IAsyncEnumerable<TSource> source,
        Func<TSource, Task<TResult>> selector,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none) =>
        source.SelectParallelAsync(TaskCalls.Selector(selector), options, cancellationToken);

    /// <inheritdoc cref="SelectParallelAsync{TSource, TResult}(ChannelReader{TSource}, Func{TSource, CancellationToken, ValueTask{TResult}},
    ///     ParallelRunOptions, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Synchronous + (4 * Priority.Rank))]
    public static Task<List<TResult>> SelectParallelAsync<TSource, TResult>(
        this ChannelReader<TSource> source,
        Func<TSource, Task<TResult>> selector,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none) =>
        source.SelectParallelAsync(TaskCalls.Selector(selector), options, cancellationToken);

    /// <inheritdoc cref="SelectParallelAsync{TSource, TResult, TKey}(IEnumerable{TSource}, Func{TSource, CancellationToken, ValueTask{TResult}}, Func{TSource,
    ///     TKey}, ParallelRunOptions, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Synchronous + (4 * Priority.Rank))]
    public static Task<List<TResult>> SelectParallelAsync<TSource, TResult, TKey>(
        this IEnumerable<TSource> source,
        Func<TSource, Task<TResult>> selector,
        Func<TSource, TKey> partitionBy,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none)
        where TKey : notnull =>
        source.SelectParallelAsync(TaskCalls.Selector(selector), partitionBy, options, cancellationToken);

    /// <inheritdoc cref="SelectParallelAsync{TSource, TResult, TKey}(IAsyncEnumerable{TSource}, Func{TSource, CancellationToken, ValueTask{TResult}},
    ///     Func{TSource, TKey}, ParallelRunOptions, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Asynchronous + (4 * Priority.Rank))]
    public static Task<List<TResult>> SelectParallelAsync<TSource, TResult, TKey>(
        this IAsyncEnumerable<TSource> source,
        Func<TSource, Task<TResult>> selector,
        Func<TSource, TKey> partitionBy,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none)
        where TKey : notnull =>
        source.SelectParallelAsync(TaskCalls.Selector(selector), partitionBy, options, cancellationToken);

    /// <inheritdoc cref="SelectParallelAsync{TSource, TResult, TKey}(ChannelReader{TSource}, Func{TSource, CancellationToken, ValueTask{TResult}},
    ///     Func{TSource, TKey}, ParallelRunOptions, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Synchronous + (4 * Priority.Rank))]
    public static Task<List<TResult>> SelectParallelAsync<TSource, TResult, TKey>(
        this ChannelReader<TSource> source,
        Func<TSource, Task<TResult>> selector,
        Func<TSource, TKey> partitionBy,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none)
        where TKey : notnull =>
        source.SelectParallelAsync(TaskCalls.Selector(selector), partitionBy, options, cancellationToken);
}
