// Written by OverloadTextTests from the overloads for calls that return a ValueTask: change those, and run it with WEIR_ACCEPT_OVERLOADS=1.
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Threading.Channels;
using Weir.Operators;

namespace Weir;

/// <content>One outcome per item, of calls that return no task.</content>
public static partial class ParallelOperators
{
    /// <inheritdoc cref="SelectParallelOutcomesAsync{TSource, TResult}(IEnumerable{TSource}, Func{TSource, CancellationToken, ValueTask{TResult}},
    ///     ParallelRunOptions, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Synchronous + (6 * Priority.Rank))]
    public static Task<ItemOutcome<TResult>[]> SelectParallelOutcomesAsync<TSource, TResult>(
        this IEnumerable<TSource> source,
        Func<TSource, TResult> selector,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none) =>
        source.SelectParallelOutcomesAsync(TaskCalls.Synchronous(selector), options, cancellationToken);

    /// <inheritdoc cref="SelectParallelOutcomesAsync{TSource, TResult}(IAsyncEnumerable{TSource}, Func{TSource, CancellationToken, ValueTask{TResult}},
    ///     ParallelRunOptions, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Asynchronous + (6 * Priority.Rank))]
    public static Task<ItemOutcome<TResult>[]> SelectParallelOutcomesAsync<TSource, TResult>(
        this IAsyncEnumerable<TSource> source,
        Func<TSource, TResult> selector,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none) =>
        source.SelectParallelOutcomesAsync(TaskCalls.Synchronous(selector), options, cancellationToken);

    /// <inheritdoc cref="SelectParallelOutcomesAsync{TSource, TResult}(ChannelReader{TSource}, Func{TSource, CancellationToken, ValueTask{TResult}},
    ///     ParallelRunOptions, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Synchronous + (6 * Priority.Rank))]
    public static Task<ItemOutcome<TResult>[]> SelectParallelOutcomesAsync<TSource, TResult>(
        this ChannelReader<TSource> source,
        Func<TSource, TResult> selector,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none) =>
        source.SelectParallelOutcomesAsync(TaskCalls.Synchronous(selector), options, cancellationToken);

    /// <inheritdoc cref="SelectParallelOutcomesAsync{TSource, TResult, TKey}(IEnumerable{TSource}, Func{TSource, CancellationToken, ValueTask{TResult}},
    ///     Func{TSource, TKey}, ParallelRunOptions, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Synchronous + (6 * Priority.Rank))]
    public static Task<ItemOutcome<TResult>[]> SelectParallelOutcomesAsync<TSource, TResult, TKey>(
        this IEnumerable<TSource> source,
        Func<TSource, TResult> selector,
        Func<TSource, TKey> partitionBy,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none)
        where TKey : notnull =>
        source.SelectParallelOutcomesAsync(TaskCalls.Synchronous(selector), partitionBy, options, cancellationToken);

    /// <inheritdoc cref="SelectParallelOutcomesAsync{TSource, TResult, TKey}(IAsyncEnumerable{TSource}, Func{TSource, CancellationToken, ValueTask{TResult}},
    ///     Func{TSource, TKey}, ParallelRunOptions, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Asynchronous + (6 * Priority.Rank))]
    public static Task<ItemOutcome<TResult>[]> SelectParallelOutcomesAsync<TSource, TResult, TKey>(
        this IAsyncEnumerable<TSource> source,
        Func<TSource, TResult> selector,
        Func<TSource, TKey> partitionBy,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none)
        where TKey : notnull =>
        source.SelectParallelOutcomesAsync(TaskCalls.Synchronous(selector), partitionBy, options, cancellationToken);

    /// <inheritdoc cref="SelectParallelOutcomesAsync{TSource, TResult, TKey}(ChannelReader{TSource}, Func{TSource, CancellationToken, ValueTask{TResult}},
    ///     Func{TSource, TKey}, ParallelRunOptions, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Synchronous + (6 * Priority.Rank))]
    public static Task<ItemOutcome<TResult>[]> SelectParallelOutcomesAsync<TSource, TResult, TKey>(
        this ChannelReader<TSource> source,
        Func<TSource, TResult> selector,
        Func<TSource, TKey> partitionBy,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default,
        params ReadOnlySpan<Missing> none)
        where TKey : notnull =>
        source.SelectParallelOutcomesAsync(TaskCalls.Synchronous(selector), partitionBy, options, cancellationToken);
}
