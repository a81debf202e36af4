using System.Runtime.CompilerServices;
using System.Threading.Channels;
using Weir.Operators;

namespace Weir;

/// <content>Outcomes, of calls that return a <see cref="Task"/>.</content>
public static partial class ParallelOperators
{
    /// <inheritdoc cref="SelectParallelOutcomesAsync{TSource, TResult}(IEnumerable{TSource}, Func{TSource, CancellationToken, ValueTask{TResult}},
    ///     ParallelRunOptions, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Task)]
    public static Task<ItemOutcome<TResult>[]> SelectParallelOutcomesAsync<TSource, TResult>(
        this IEnumerable<TSource> source,
        Func<TSource, CancellationToken, Task<TResult>> selector,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default) =>
        source.SelectParallelOutcomesAsync(TaskCalls.Selector(selector), options, cancellationToken);

    /// <inheritdoc cref="SelectParallelOutcomesAsync{TSource, TResult}(IAsyncEnumerable{TSource}, Func{TSource, CancellationToken, ValueTask{TResult}},
    ///     ParallelRunOptions, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.TaskAsynchronous)]
    public static Task<ItemOutcome<TResult>[]> SelectParallelOutcomesAsync<TSource, TResult>(
        this IAsyncEnumerable<TSource> source,
        Func<TSource, CancellationToken, Task<TResult>> selector,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default) =>
        source.SelectParallelOutcomesAsync(TaskCalls.Selector(selector), options, cancellationToken);

    /// <inheritdoc cref="SelectParallelOutcomesAsync{TSource, TResult}(ChannelReader{TSource}, Func{TSource, CancellationToken, ValueTask{TResult}},
    ///     ParallelRunOptions, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Task)]
    public static Task<ItemOutcome<TResult>[]> SelectParallelOutcomesAsync<TSource, TResult>(
        this ChannelReader<TSource> source,
        Func<TSource, CancellationToken, Task<TResult>> selector,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default) =>
        source.SelectParallelOutcomesAsync(TaskCalls.Selector(selector), options, cancellationToken);

    /// <inheritdoc cref="SelectParallelOutcomesAsync{TSource, TResult, TKey}(IEnumerable{TSource}, Func{TSource, CancellationToken, ValueTask{TResult}},
    ///     Func{TSource, TKey}, ParallelRunOptions, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Task)]
    public static Task<ItemOutcome<TResult>[]> SelectParallelOutcomesAsync<TSource, TResult, TKey>(
        this IEnumerable<TSource> source,
        Func<TSource, CancellationToken, Task<TResult>> selector,
        Func<TSource, TKey> partitionBy,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default)
        where TKey : notnull =>
        source.SelectParallelOutcomesAsync(TaskCalls.Selector(selector), partitionBy, options, cancellationToken);

    /// <inheritdoc cref="SelectParallelOutcomesAsync{TSource, TResult, TKey}(IAsyncEnumerable{TSource}, Func{TSource, CancellationToken, ValueTask{TResult}},
    ///     Func{TSource, TKey}, ParallelRunOptions, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.TaskAsynchronous)]
    public static Task<ItemOutcome<TResult>[]> SelectParallelOutcomesAsync<TSource, TResult, TKey>(
        this IAsyncEnumerable<TSource> source,
        Func<TSource, CancellationToken, Task<TResult>> selector,
        Func<TSource, TKey> partitionBy,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default)
        where TKey : notnull =>
        source.SelectParallelOutcomesAsync(TaskCalls.Selector(selector), partitionBy, options, cancellationToken);

    /// <inheritdoc cref="SelectParallelOutcomesAsync{TSource, TResult, TKey}(ChannelReader{TSource}, Func{TSource, CancellationToken, ValueTask{TResult}},
    ///     Func{TSource, TKey}, ParallelRunOptions, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Task)]
    public static Task<ItemOutcome<TResult>[]> SelectParallelOutcomesAsync<TSource, TResult, TKey>(
        this ChannelReader<TSource> source,
        Func<TSource, CancellationToken, Task<TResult>> selector,
        Func<TSource, TKey> partitionBy,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default)
        where TKey : notnull =>
        source.SelectParallelOutcomesAsync(TaskCalls.Selector(selector), partitionBy, options, cancellationToken);
}
