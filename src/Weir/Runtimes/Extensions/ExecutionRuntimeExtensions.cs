using System.Runtime.CompilerServices;
using System.Threading.Channels;
using Weir.Core.Sinks;
using Weir.Operators;

namespace Weir.Runtimes;

/// <summary>
/// What all runtimes take besides: items of asynchronous sequences and channels, and processors that have no result, that return a <see cref="Task"/>, that
/// take no token, or that are synchronous. An async lambda with a token is none of these, because it converts to a <see cref="ValueTask"/>.
/// </summary>
public static partial class ExecutionRuntimeExtensions
{
    /// <summary>Runs all items and returns how each ended, in input order.</summary>
    /// <typeparam name="TItem">The type of the items.</typeparam>
    /// <param name="runtime">The runtime.</param>
    /// <param name="items">
    /// The items. A list must not change during the call; any other sequence is read while the call goes on, one step at a time. They may have keys, as for
    /// processors with results.
    /// </param>
    /// <param name="processor">The call for an item. Its token is cancelled when the time limit of the item or of the call passes.</param>
    /// <param name="options">The time limits; <see langword="null"/> for none.</param>
    /// <param name="cancellationToken">Cancels the call.</param>
    /// <returns>Exactly one outcome per item. An item's failure is never thrown, but one of the sequence or of its keys is, and ends the call.</returns>
    /// <exception cref="ArgumentNullException">
    /// <paramref name="runtime"/>, <paramref name="items"/> or <paramref name="processor"/> is <see langword="null"/>. Thrown at the call.
    /// </exception>
    /// <exception cref="ArgumentOutOfRangeException">A value of <paramref name="options"/> is out of range. Thrown at the call.</exception>
    /// <exception cref="ArgumentException">The policies have a fallback or a rule about results. Thrown at the call.</exception>
    /// <exception cref="ObjectDisposedException">The runtime has been disposed. Thrown at the call.</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    public static Task<ItemOutcome<TItem>[]> ProcessManyAsync<TItem>(
        this IExecutionRuntime runtime,
        IEnumerable<TItem> items,
        Func<TItem, CancellationToken, ValueTask> processor,
        ProcessManyOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(runtime);
        Fallback.ThrowIfSet(options?.Policies?.OnFallback, "a processor");
        RetryRule.ThrowIfSet(options?.Policies?.ShouldRetry);
        return TaskCalls.WithoutResults(runtime.ProcessManyAsync(items, TaskCalls.AsSelector<TItem, Nothing>(processor), options, cancellationToken));
    }

    // Asynchronous sequences and channels.

    /// <summary>Runs all items of an asynchronous sequence or a channel and returns one outcome per item, in input order.</summary>
    /// <typeparam name="TItem">The type of the items.</typeparam>
    /// <typeparam name="TResult">The type of the results.</typeparam>
    /// <param name="runtime">The runtime.</param>
    /// <param name="items">
    /// The items, which are read while the call goes on, one step at a time and only as they are wanted. Nothing holds a thread while the next one is awaited.
    /// They may have keys. A channel is read until it is completed; it may be a single-reader channel.
    /// </param>
    /// <param name="processor">The call for an item. Its token is cancelled when the time limit of the item or of the call passes.</param>
    /// <param name="options">The time limits; <see langword="null"/> for none.</param>
    /// <param name="cancellationToken">Cancels the call.</param>
    /// <returns>
    /// Exactly one outcome for each item that was read. An item's failure is never thrown, but one of the sequence or of its keys is, and ends the call.
    /// </returns>
    /// <exception cref="ArgumentNullException">
    /// <paramref name="runtime"/>, <paramref name="items"/> or <paramref name="processor"/> is <see langword="null"/>. Thrown at the call.
    /// </exception>
    /// <exception cref="ArgumentOutOfRangeException">A value of <paramref name="options"/> is out of range. Thrown at the call.</exception>
    /// <exception cref="ObjectDisposedException">The runtime has been disposed. Thrown at the call.</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    [OverloadResolutionPriority(Priority.Asynchronous)]
    public static Task<ItemOutcome<TItem, TResult>[]> ProcessManyAsync<TItem, TResult>(
        this IExecutionRuntime runtime,
        IAsyncEnumerable<TItem> items,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        ProcessManyOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(runtime);
        return runtime.ProcessManyAsync(AwaitedItems<TItem>.Of(items), processor, options, cancellationToken);
    }

    /// <inheritdoc cref="ProcessManyAsync{TItem, TResult}(IExecutionRuntime, IAsyncEnumerable{TItem}, Func{TItem, CancellationToken, ValueTask{TResult}},
    ///     ProcessManyOptions, CancellationToken)"/>
    public static Task<ItemOutcome<TItem, TResult>[]> ProcessManyAsync<TItem, TResult>(
        this IExecutionRuntime runtime,
        ChannelReader<TItem> items,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        ProcessManyOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(runtime);
        return runtime.ProcessManyAsync(AwaitedItems<TItem>.Of(items), processor, options, cancellationToken);
    }

    /// <summary>Runs all items of an asynchronous sequence or a channel and returns how each ended, in input order.</summary>
    /// <inheritdoc cref="ProcessManyAsync{TItem, TResult}(IExecutionRuntime, IAsyncEnumerable{TItem}, Func{TItem, CancellationToken, ValueTask{TResult}},
    ///     ProcessManyOptions, CancellationToken)"/>
    /// <exception cref="ArgumentException">The policies have a fallback or a rule about results. Thrown at the call.</exception>
    [OverloadResolutionPriority(Priority.Asynchronous)]
    public static Task<ItemOutcome<TItem>[]> ProcessManyAsync<TItem>(
        this IExecutionRuntime runtime,
        IAsyncEnumerable<TItem> items,
        Func<TItem, CancellationToken, ValueTask> processor,
        ProcessManyOptions? options = null,
        CancellationToken cancellationToken = default) =>
        runtime.ProcessManyAsync(AwaitedItems<TItem>.Of(items), processor, options, cancellationToken);

    /// <inheritdoc cref="ProcessManyAsync{TItem}(IExecutionRuntime, IAsyncEnumerable{TItem}, Func{TItem, CancellationToken, ValueTask}, ProcessManyOptions,
    ///     CancellationToken)"/>
    public static Task<ItemOutcome<TItem>[]> ProcessManyAsync<TItem>(
        this IExecutionRuntime runtime,
        ChannelReader<TItem> items,
        Func<TItem, CancellationToken, ValueTask> processor,
        ProcessManyOptions? options = null,
        CancellationToken cancellationToken = default) =>
        runtime.ProcessManyAsync(AwaitedItems<TItem>.Of(items), processor, options, cancellationToken);

    /// <summary>Runs all items of an asynchronous sequence or a channel and yields each one's outcome, with its index, as soon as it is known.</summary>
    /// <typeparam name="TItem">The type of the items.</typeparam>
    /// <typeparam name="TResult">The type of the results.</typeparam>
    /// <param name="runtime">The runtime.</param>
    /// <param name="items">
    /// The items, which are read while the call goes on, one step at a time and only as they are wanted. Nothing holds a thread while the next one is awaited.
    /// They may have keys. A channel is read until it is completed; it may be a single-reader channel.
    /// </param>
    /// <param name="processor">The call for an item. Its token is cancelled when the time limit of the item or of the call passes.</param>
    /// <param name="orderedOutput">Whether the outcomes come in input order rather than in completion order.</param>
    /// <param name="options">The time limits; <see langword="null"/> for none. The total time limit counts from the first step.</param>
    /// <param name="cancellationToken">Cancels the enumeration.</param>
    /// <returns>
    /// Exactly one outcome for each item that was read, each index once. Nothing runs before the first step, and each enumeration is a separate run. Leaving it
    /// early cancels the running items and waits for them. A consumer that is 1,024 outcomes behind holds the run back, and so the reading of the sequence.
    /// </returns>
    /// <exception cref="ArgumentNullException">
    /// <paramref name="runtime"/>, <paramref name="items"/> or <paramref name="processor"/> is <see langword="null"/>. Thrown at the call.
    /// </exception>
    /// <exception cref="ArgumentOutOfRangeException">A value of <paramref name="options"/> is out of range. Thrown at the call.</exception>
    /// <exception cref="ObjectDisposedException">The runtime has been disposed. Thrown at the first step.</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    [OverloadResolutionPriority(Priority.Asynchronous)]
    public static IAsyncEnumerable<(int Index, ItemOutcome<TItem, TResult> Outcome)> ProcessManyStreamAsync<TItem, TResult>(
        this IExecutionRuntime runtime,
        IAsyncEnumerable<TItem> items,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        bool orderedOutput = false,
        ProcessManyOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(runtime);
        return runtime.ProcessManyStreamAsync(AwaitedItems<TItem>.Of(items), processor, orderedOutput, options, cancellationToken);
    }

    /// <inheritdoc cref="ProcessManyStreamAsync{TItem, TResult}(IExecutionRuntime, IAsyncEnumerable{TItem}, Func{TItem, CancellationToken, ValueTask{TResult}},
    ///     bool, ProcessManyOptions, CancellationToken)"/>
    public static IAsyncEnumerable<(int Index, ItemOutcome<TItem, TResult> Outcome)> ProcessManyStreamAsync<TItem, TResult>(
        this IExecutionRuntime runtime,
        ChannelReader<TItem> items,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        bool orderedOutput = false,
        ProcessManyOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(runtime);
        return runtime.ProcessManyStreamAsync(AwaitedItems<TItem>.Of(items), processor, orderedOutput, options, cancellationToken);
    }

    // Streams of processors without results.

    /// <summary>Runs all items and yields how each ended, with its index, as soon as it is known.</summary>
    /// <typeparam name="TItem">The type of the items.</typeparam>
    /// <param name="runtime">The runtime.</param>
    /// <param name="items">
    /// The items. A list must not change during the enumeration; any other sequence is read while it goes on, one step at a time. They may have keys, as for
    /// processors with results.
    /// </param>
    /// <param name="processor">The call for an item. Its token is cancelled when the time limit of the item or of the call passes.</param>
    /// <param name="orderedOutput">Whether the outcomes come in input order rather than in completion order.</param>
    /// <param name="options">The time limits; <see langword="null"/> for none. The total time limit counts from the first step.</param>
    /// <param name="cancellationToken">Cancels the enumeration.</param>
    /// <returns>
    /// Exactly one outcome per item, each index once. Nothing runs before the first step, and each enumeration is a separate run. Leaving it early cancels the
    /// running items and waits for them. A consumer that is 1,024 outcomes behind holds the run back.
    /// </returns>
    /// <exception cref="ArgumentNullException">
    /// <paramref name="runtime"/>, <paramref name="items"/> or <paramref name="processor"/> is <see langword="null"/>. Thrown at the call.
    /// </exception>
    /// <exception cref="ArgumentOutOfRangeException">A value of <paramref name="options"/> is out of range. Thrown at the call.</exception>
    /// <exception cref="ArgumentException">The policies have a fallback or a rule about results. Thrown at the call.</exception>
    /// <exception cref="ObjectDisposedException">The runtime has been disposed. Thrown at the first step.</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    public static IAsyncEnumerable<(int Index, ItemOutcome<TItem> Outcome)> ProcessManyStreamAsync<TItem>(
        this IExecutionRuntime runtime,
        IEnumerable<TItem> items,
        Func<TItem, CancellationToken, ValueTask> processor,
        bool orderedOutput = false,
        ProcessManyOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(runtime);
        Fallback.ThrowIfSet(options?.Policies?.OnFallback, "a processor");
        RetryRule.ThrowIfSet(options?.Policies?.ShouldRetry);
        return TaskCalls.WithoutResults(
            runtime.ProcessManyStreamAsync(items, TaskCalls.AsSelector<TItem, Nothing>(processor), orderedOutput, options, cancellationToken), CancellationToken.None);
    }

    /// <summary>Runs all items of an asynchronous sequence or a channel and yields how each ended, with its index, as soon as it is known.</summary>
    /// <inheritdoc cref="ProcessManyStreamAsync{TItem, TResult}(IExecutionRuntime, IAsyncEnumerable{TItem}, Func{TItem, CancellationToken, ValueTask{TResult}},
    ///     bool, ProcessManyOptions, CancellationToken)"/>
    /// <exception cref="ArgumentException">The policies have a fallback or a rule about results. Thrown at the call.</exception>
    [OverloadResolutionPriority(Priority.Asynchronous)]
    public static IAsyncEnumerable<(int Index, ItemOutcome<TItem> Outcome)> ProcessManyStreamAsync<TItem>(
        this IExecutionRuntime runtime,
        IAsyncEnumerable<TItem> items,
        Func<TItem, CancellationToken, ValueTask> processor,
        bool orderedOutput = false,
        ProcessManyOptions? options = null,
        CancellationToken cancellationToken = default) =>
        runtime.ProcessManyStreamAsync(AwaitedItems<TItem>.Of(items), processor, orderedOutput, options, cancellationToken);

    /// <inheritdoc cref="ProcessManyStreamAsync{TItem}(IExecutionRuntime, IAsyncEnumerable{TItem}, Func{TItem, CancellationToken, ValueTask}, bool,
    ///     ProcessManyOptions, CancellationToken)"/>
    public static IAsyncEnumerable<(int Index, ItemOutcome<TItem> Outcome)> ProcessManyStreamAsync<TItem>(
        this IExecutionRuntime runtime,
        ChannelReader<TItem> items,
        Func<TItem, CancellationToken, ValueTask> processor,
        bool orderedOutput = false,
        ProcessManyOptions? options = null,
        CancellationToken cancellationToken = default) =>
        runtime.ProcessManyStreamAsync(AwaitedItems<TItem>.Of(items), processor, orderedOutput, options, cancellationToken);
}
