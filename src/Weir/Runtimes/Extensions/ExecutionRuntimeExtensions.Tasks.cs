// Written by OverloadTextTests from the overloads for calls that return a ValueTask: change those, and run it with WEIR_ACCEPT_OVERLOADS=1.
using Weir.Operators;

namespace Weir.Runtimes;

/// <content>Overloads for calls that return a <see cref="Task"/>.</content>
public static partial class ExecutionRuntimeExtensions
{
    /// <inheritdoc cref="IExecutionRuntime.ProcessManyAsync{TItem, TResult}(IEnumerable{TItem}, Func{TItem, CancellationToken, ValueTask{TResult}},
    ///     ProcessManyOptions, CancellationToken)"/>
    /// <param name="runtime">The runtime.</param>
    /// <param name="items">
    /// The items. A list must not change during the call; any other sequence is read while the call goes on, one step at a time.
    /// </param>
    /// <param name="processor">The call for an item. Its token is cancelled when the time limit of the item or of the call passes.</param>
    /// <param name="options">The time limits; <see langword="null"/> for none.</param>
    /// <param name="cancellationToken">Cancels the call.</param>
    public static Task<ItemOutcome<TResult>[]> ProcessManyAsync<TItem, TResult>(
        this IExecutionRuntime runtime,
        IEnumerable<TItem> items,
        Func<TItem, CancellationToken, Task<TResult>> processor,
        ProcessManyOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(runtime);
        return runtime.ProcessManyAsync(items, TaskCalls.Selector(processor), options, cancellationToken);
    }

    /// <inheritdoc cref="IExecutionRuntime.ProcessManyAsync{TItem, TResult, TKey}(IEnumerable{TItem}, Func{TItem, CancellationToken, ValueTask{TResult}},
    ///     Func{TItem, TKey}, ProcessManyOptions, CancellationToken)"/>
    /// <param name="runtime">The runtime.</param>
    /// <param name="items">
    /// The items. A list must not change during the call; any other sequence is read while the call goes on, one step at a time.
    /// </param>
    /// <param name="processor">The call for an item. Its token is cancelled when the time limit of the item or of the call passes.</param>
    /// <param name="partitionBy">
    /// Returns the key of an item. It is called once per item, for one item at a time. Items with the same key run one at a time, in input order (or
    /// <see cref="ProcessManyOptions.MaxPerPartition"/> at a time), each after the previous one has ended or was given up. Items with other keys can overtake
    /// them.
    /// </param>
    /// <param name="options">The time limits; <see langword="null"/> for none.</param>
    /// <param name="cancellationToken">Cancels the call.</param>
    public static Task<ItemOutcome<TResult>[]> ProcessManyAsync<TItem, TResult, TKey>(
        this IExecutionRuntime runtime,
        IEnumerable<TItem> items,
        Func<TItem, CancellationToken, Task<TResult>> processor,
        Func<TItem, TKey> partitionBy,
        ProcessManyOptions? options = null,
        CancellationToken cancellationToken = default)
        where TKey : notnull
    {
        ArgumentNullException.ThrowIfNull(runtime);
        return runtime.ProcessManyAsync(items, TaskCalls.Selector(processor), partitionBy, options, cancellationToken);
    }

    /// <inheritdoc cref="IExecutionRuntime.ProcessManyStreamAsync{TItem, TResult}(IEnumerable{TItem}, Func{TItem, CancellationToken, ValueTask{TResult}}, bool,
    ///     ProcessManyOptions, CancellationToken)"/>
    /// <param name="runtime">The runtime.</param>
    /// <param name="items">
    /// The items. A list must not change during the enumeration; any other sequence is read while it goes on, one step at a time.
    /// </param>
    /// <param name="processor">The call for an item. Its token is cancelled when the time limit of the item or of the call passes.</param>
    /// <param name="orderedOutput">Whether the outcomes come in input order rather than in completion order.</param>
    /// <param name="options">The time limits; <see langword="null"/> for none. The batch timeout counts from the first step.</param>
    /// <param name="cancellationToken">Cancels the enumeration.</param>
    public static IAsyncEnumerable<(int Index, ItemOutcome<TResult> Outcome)> ProcessManyStreamAsync<TItem, TResult>(
        this IExecutionRuntime runtime,
        IEnumerable<TItem> items,
        Func<TItem, CancellationToken, Task<TResult>> processor,
        bool orderedOutput = false,
        ProcessManyOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(runtime);
        return runtime.ProcessManyStreamAsync(items, TaskCalls.Selector(processor), orderedOutput, options, cancellationToken);
    }

    /// <inheritdoc cref="IExecutionRuntime.ProcessManyStreamAsync{TItem, TResult, TKey}(IEnumerable{TItem}, Func{TItem, CancellationToken, ValueTask{TResult}},
    ///     Func{TItem, TKey}, bool, ProcessManyOptions, CancellationToken)"/>
    /// <param name="runtime">The runtime.</param>
    /// <param name="items">
    /// The items. A list must not change during the enumeration; any other sequence is read while it goes on, one step at a time.
    /// </param>
    /// <param name="processor">The call for an item. Its token is cancelled when the time limit of the item or of the call passes.</param>
    /// <param name="partitionBy">
    /// Returns the key of an item. It is called once per item, for one item at a time. Items with the same key run one at a time, in input order (or
    /// <see cref="ProcessManyOptions.MaxPerPartition"/> at a time), each after the previous one has ended or was given up. Items with other keys can overtake
    /// them.
    /// </param>
    /// <param name="orderedOutput">Whether the outcomes come in input order rather than in completion order.</param>
    /// <param name="options">The time limits; <see langword="null"/> for none. The batch timeout counts from the first step.</param>
    /// <param name="cancellationToken">Cancels the enumeration.</param>
    public static IAsyncEnumerable<(int Index, ItemOutcome<TResult> Outcome)> ProcessManyStreamAsync<TItem, TResult, TKey>(
        this IExecutionRuntime runtime,
        IEnumerable<TItem> items,
        Func<TItem, CancellationToken, Task<TResult>> processor,
        Func<TItem, TKey> partitionBy,
        bool orderedOutput = false,
        ProcessManyOptions? options = null,
        CancellationToken cancellationToken = default)
        where TKey : notnull
    {
        ArgumentNullException.ThrowIfNull(runtime);
        return runtime.ProcessManyStreamAsync(items, TaskCalls.Selector(processor), partitionBy, orderedOutput, options, cancellationToken);
    }

    /// <inheritdoc cref="AutoRuntime.ProcessManyWithDecisionsAsync{TItem, TResult}(IEnumerable{TItem}, Func{TItem, CancellationToken, ValueTask{TResult}},
    ///     ProcessManyOptions, CancellationToken)"/>
    /// <param name="runtime">The runtime.</param>
    /// <param name="items">
    /// The items. A list must not change during the call; any other sequence is read while the call goes on, one step at a time.
    /// </param>
    /// <param name="processor">The call for an item. Its token is cancelled when the time limit of the item or of the call passes.</param>
    /// <param name="options">The time limits; <see langword="null"/> for none.</param>
    /// <param name="cancellationToken">Cancels the call.</param>
    public static Task<AutoResult<TResult>> ProcessManyWithDecisionsAsync<TItem, TResult>(
        this AutoRuntime runtime,
        IEnumerable<TItem> items,
        Func<TItem, CancellationToken, Task<TResult>> processor,
        ProcessManyOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(runtime);
        return runtime.ProcessManyWithDecisionsAsync(items, TaskCalls.Selector(processor), options, cancellationToken);
    }
}
