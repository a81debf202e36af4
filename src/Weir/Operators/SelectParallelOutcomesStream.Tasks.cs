// Written by OverloadTextTests from the overloads for calls that return a ValueTask: change those, and run it with WEIR_ACCEPT_OVERLOADS=1.
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Threading.Channels;
using Weir.Operators;

namespace Weir;

/// <content>Outcomes as a stream, of calls that return a <see cref="Task"/>.</content>
public static partial class ParallelOperators
{
    /// <inheritdoc cref="SelectParallelOutcomesStreamAsync{TSource, TResult}(IEnumerable{TSource}, Func{TSource, CancellationToken, ValueTask{TResult}},
    ///     ParallelRunOptions, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Synchronous + Priority.Rank)]
    public static IAsyncEnumerable<(int Index, ItemOutcome<TResult> Outcome)> SelectParallelOutcomesStreamAsync<TSource, TResult>(
        this IEnumerable<TSource> source,
        Func<TSource, CancellationToken, Task<TResult>> selector,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default,
        params Missing[] none) =>
        source.SelectParallelOutcomesStreamAsync(TaskCalls.Selector(selector), options, cancellationToken);

    /// <inheritdoc cref="SelectParallelOutcomesStreamAsync{TSource, TResult}(IAsyncEnumerable{TSource}, Func{TSource, CancellationToken, ValueTask{TResult}},
    ///     ParallelRunOptions, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Asynchronous + Priority.Rank)]
    public static IAsyncEnumerable<(int Index, ItemOutcome<TResult> Outcome)> SelectParallelOutcomesStreamAsync<TSource, TResult>(
        this IAsyncEnumerable<TSource> source,
        Func<TSource, CancellationToken, Task<TResult>> selector,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default,
        params Missing[] none) =>
        source.SelectParallelOutcomesStreamAsync(TaskCalls.Selector(selector), options, cancellationToken);

    /// <inheritdoc cref="SelectParallelOutcomesStreamAsync{TSource, TResult}(ChannelReader{TSource}, Func{TSource, CancellationToken, ValueTask{TResult}},
    ///     ParallelRunOptions, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Synchronous + Priority.Rank)]
    public static IAsyncEnumerable<(int Index, ItemOutcome<TResult> Outcome)> SelectParallelOutcomesStreamAsync<TSource, TResult>(
        this ChannelReader<TSource> source,
        Func<TSource, CancellationToken, Task<TResult>> selector,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default,
        params Missing[] none) =>
        source.SelectParallelOutcomesStreamAsync(TaskCalls.Selector(selector), options, cancellationToken);

    /// <inheritdoc cref="SelectParallelOutcomesStreamAsync{TSource, TResult, TKey}(IEnumerable{TSource}, Func{TSource, CancellationToken, ValueTask{TResult}},
    ///     Func{TSource, TKey}, ParallelRunOptions, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Synchronous + Priority.Rank)]
    public static IAsyncEnumerable<(int Index, ItemOutcome<TResult> Outcome)> SelectParallelOutcomesStreamAsync<TSource, TResult, TKey>(
        this IEnumerable<TSource> source,
        Func<TSource, CancellationToken, Task<TResult>> selector,
        Func<TSource, TKey> partitionBy,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default,
        params Missing[] none)
        where TKey : notnull =>
        source.SelectParallelOutcomesStreamAsync(TaskCalls.Selector(selector), partitionBy, options, cancellationToken);

    /// <inheritdoc cref="SelectParallelOutcomesStreamAsync{TSource, TResult, TKey}(IAsyncEnumerable{TSource}, Func{TSource, CancellationToken,
    ///     ValueTask{TResult}}, Func{TSource, TKey}, ParallelRunOptions, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Asynchronous + Priority.Rank)]
    public static IAsyncEnumerable<(int Index, ItemOutcome<TResult> Outcome)> SelectParallelOutcomesStreamAsync<TSource, TResult, TKey>(
        this IAsyncEnumerable<TSource> source,
        Func<TSource, CancellationToken, Task<TResult>> selector,
        Func<TSource, TKey> partitionBy,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default,
        params Missing[] none)
        where TKey : notnull =>
        source.SelectParallelOutcomesStreamAsync(TaskCalls.Selector(selector), partitionBy, options, cancellationToken);

    /// <inheritdoc cref="SelectParallelOutcomesStreamAsync{TSource, TResult, TKey}(ChannelReader{TSource}, Func{TSource, CancellationToken,
    ///     ValueTask{TResult}}, Func{TSource, TKey}, ParallelRunOptions, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Synchronous + Priority.Rank)]
    public static IAsyncEnumerable<(int Index, ItemOutcome<TResult> Outcome)> SelectParallelOutcomesStreamAsync<TSource, TResult, TKey>(
        this ChannelReader<TSource> source,
        Func<TSource, CancellationToken, Task<TResult>> selector,
        Func<TSource, TKey> partitionBy,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default,
        params Missing[] none)
        where TKey : notnull =>
        source.SelectParallelOutcomesStreamAsync(TaskCalls.Selector(selector), partitionBy, options, cancellationToken);
}
