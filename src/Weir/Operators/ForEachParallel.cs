using System.Runtime.CompilerServices;
using System.Threading.Channels;
using Weir.Core.Sources;
using Weir.Operators;

namespace Weir;

/// <content>Side effects without results.</content>
public static partial class ParallelOperators
{
    /// <summary>Runs <paramref name="action"/> for each item of <paramref name="source"/>, several at a time.</summary>
    /// <typeparam name="TSource">The type of the items.</typeparam>
    /// <param name="source">
    /// The items. Arrays and lists are read in place and must not change during the run. Other sequences are read by one worker at a time, and only as items
    /// are wanted, never all at once. A channel is read until it is completed; it may be a single-reader channel.
    /// </param>
    /// <param name="action">The call for an item. It runs on the thread pool, never on the caller's thread or context, and for several items at once.</param>
    /// <param name="options">How to run the calls; <see langword="null"/> for the defaults.</param>
    /// <param name="cancellationToken">Cancels the run. The token passed to <paramref name="action"/> is cancelled then, and whenever the run stops.</param>
    /// <returns>A task that completes when everything that was started has ended.</returns>
    /// <exception cref="ArgumentNullException">
    /// <paramref name="source"/> or <paramref name="action"/> is <see langword="null"/>. Thrown at the call.
    /// </exception>
    /// <exception cref="ArgumentOutOfRangeException">A value of <paramref name="options"/> is out of range. Thrown at the call.</exception>
    /// <exception cref="OperationCanceledException">
    /// <paramref name="cancellationToken"/> was cancelled. Thrown with that token, in every <see cref="ErrorMode"/>.
    /// </exception>
    /// <exception cref="ItemsFailedException">
    /// Items failed under <see cref="ErrorMode.CollectAndContinue"/>. Under <see cref="ErrorMode.FailFast"/>, the first failed item's own exception is thrown
    /// instead.
    /// </exception>
    /// <remarks>An exception from <paramref name="source"/> itself ends the run at once in every mode. This method is thread-safe.</remarks>
    public static Task ForEachParallelAsync<TSource>(
        this IEnumerable<TSource> source,
        Func<TSource, CancellationToken, ValueTask> action,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(source);
        ArgumentNullException.ThrowIfNull(action);
        options = ParallelRunOptions.Of(options);
        return OperatorRun.Discard(ItemsOf.Enumerable(source, options), action, options, cancellationToken);
    }

    /// <inheritdoc cref="ForEachParallelAsync{TSource}(IEnumerable{TSource}, Func{TSource, CancellationToken, ValueTask}, ParallelRunOptions,
    ///     CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Asynchronous)]
    public static Task ForEachParallelAsync<TSource>(
        this IAsyncEnumerable<TSource> source,
        Func<TSource, CancellationToken, ValueTask> action,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(source);
        ArgumentNullException.ThrowIfNull(action);
        options = ParallelRunOptions.Of(options);
        return OperatorRun.Discard(ItemsOf.AsyncEnumerable(source, options), action, options, cancellationToken);
    }

    /// <inheritdoc cref="ForEachParallelAsync{TSource}(IEnumerable{TSource}, Func{TSource, CancellationToken, ValueTask}, ParallelRunOptions,
    ///     CancellationToken)"/>
    public static Task ForEachParallelAsync<TSource>(
        this ChannelReader<TSource> source,
        Func<TSource, CancellationToken, ValueTask> action,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(source);
        ArgumentNullException.ThrowIfNull(action);
        options = ParallelRunOptions.Of(options);
        return OperatorRun.Discard(ItemsOf.Channel(source, options), action, options, cancellationToken);
    }

    // One outcome per item of calls without results.

    /// <summary>Runs <paramref name="action"/> for each item of <paramref name="source"/>, several at a time, and returns how each item ended.</summary>
    /// <typeparam name="TSource">The type of the items.</typeparam>
    /// <param name="source">
    /// The items. Arrays and lists are read in place and must not change during the run. Other sequences are read by one worker at a time, and only as items
    /// are wanted, never all at once. A channel is read until it is completed; it may be a single-reader channel.
    /// </param>
    /// <param name="action">The call for an item. It runs on the thread pool, never on the caller's thread or context, and for several items at once.</param>
    /// <param name="options">How to run the calls; <see langword="null"/> for the defaults.</param>
    /// <param name="cancellationToken">Cancels the run. The token passed to <paramref name="action"/> is cancelled then, and whenever the run stops.</param>
    /// <returns>
    /// One outcome per item, in source order. An item's failure is never thrown, and <see cref="ParallelRunOptions.ErrorMode"/> has no effect: all items run,
    /// unless <see cref="RunHooks.OnErrorAsync"/> stops the run. Items that have not started by then are <see cref="ItemStatus.NotRun"/>.
    /// </returns>
    /// <exception cref="ArgumentNullException">
    /// <paramref name="source"/> or <paramref name="action"/> is <see langword="null"/>. Thrown at the call.
    /// </exception>
    /// <exception cref="ArgumentOutOfRangeException">A value of <paramref name="options"/> is out of range. Thrown at the call.</exception>
    /// <exception cref="OperationCanceledException">
    /// <paramref name="cancellationToken"/> was cancelled. Thrown with that token, in every <see cref="ErrorMode"/>.
    /// </exception>
    /// <remarks>An exception from <paramref name="source"/> itself is thrown. This method is thread-safe.</remarks>
    public static Task<ItemOutcome<TSource>[]> ForEachParallelOutcomesAsync<TSource>(
        this IEnumerable<TSource> source,
        Func<TSource, CancellationToken, ValueTask> action,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(source);
        ArgumentNullException.ThrowIfNull(action);
        options = ParallelRunOptions.Of(options);
        return OperatorRun.ActionOutcomes(ItemsOf.Enumerable(source, options), action, options, cancellationToken);
    }

    /// <inheritdoc cref="ForEachParallelOutcomesAsync{TSource}(IEnumerable{TSource}, Func{TSource, CancellationToken, ValueTask},
    ///     ParallelRunOptions, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Asynchronous)]
    public static Task<ItemOutcome<TSource>[]> ForEachParallelOutcomesAsync<TSource>(
        this IAsyncEnumerable<TSource> source,
        Func<TSource, CancellationToken, ValueTask> action,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(source);
        ArgumentNullException.ThrowIfNull(action);
        options = ParallelRunOptions.Of(options);
        return OperatorRun.ActionOutcomes(ItemsOf.AsyncEnumerable(source, options), action, options, cancellationToken);
    }

    /// <inheritdoc cref="ForEachParallelOutcomesAsync{TSource}(IEnumerable{TSource}, Func{TSource, CancellationToken, ValueTask},
    ///     ParallelRunOptions, CancellationToken)"/>
    public static Task<ItemOutcome<TSource>[]> ForEachParallelOutcomesAsync<TSource>(
        this ChannelReader<TSource> source,
        Func<TSource, CancellationToken, ValueTask> action,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(source);
        ArgumentNullException.ThrowIfNull(action);
        options = ParallelRunOptions.Of(options);
        return OperatorRun.ActionOutcomes(ItemsOf.Channel(source, options), action, options, cancellationToken);
    }

    // The same as a stream.

    /// <summary>
    /// Runs <paramref name="action"/> for each item of <paramref name="source"/>, several at a time, and yields how each item ended as soon as it has.
    /// </summary>
    /// <typeparam name="TSource">The type of the items.</typeparam>
    /// <param name="source">
    /// The items. Arrays and lists are read in place and must not change during the run. Other sequences are read by one worker at a time, and only as items
    /// are wanted, never all at once. A channel is read until it is completed; it may be a single-reader channel.
    /// </param>
    /// <param name="action">The call for an item. It runs on the thread pool, never on the caller's thread or context, and for several items at once.</param>
    /// <param name="options">How to run the calls; <see langword="null"/> for the defaults.</param>
    /// <param name="cancellationToken">Cancels the run. The token passed to <paramref name="action"/> is cancelled then, and whenever the run stops.</param>
    /// <returns>
    /// Each item's index and outcome, in the order of completion, or in source order with <see cref="ParallelRunOptions.OrderedOutput"/>. An item's failure
    /// is never thrown, and <see cref="ParallelRunOptions.ErrorMode"/> has no effect: all items run, unless <see cref="RunHooks.OnErrorAsync"/>
    /// stops the run. Items that have not started by then are <see cref="ItemStatus.NotRun"/>, and in the order of completion they come last. Nothing runs
    /// before the first step of an enumeration, and each enumeration is a separate run.
    /// </returns>
    /// <exception cref="ArgumentNullException">
    /// <paramref name="source"/> or <paramref name="action"/> is <see langword="null"/>. Thrown at the call.
    /// </exception>
    /// <exception cref="ArgumentOutOfRangeException">A value of <paramref name="options"/> is out of range. Thrown at the call.</exception>
    /// <exception cref="OperationCanceledException">
    /// <paramref name="cancellationToken"/> was cancelled. Thrown with that token, in every <see cref="ErrorMode"/>.
    /// </exception>
    /// <remarks>
    /// At most <see cref="ParallelRunOptions.MaxDegreeOfParallelism"/> + <see cref="OutputOptions.ChannelCapacity"/> items are between the source and the
    /// consumer at any time. Leaving the enumeration early, by <c>break</c>, an exception or disposal, cancels the running items and waits for them. An
    /// exception from <paramref name="source"/> itself is thrown.
    /// </remarks>
    public static IAsyncEnumerable<(int Index, ItemOutcome<TSource> Outcome)> ForEachParallelOutcomesStreamAsync<TSource>(
        this IEnumerable<TSource> source,
        Func<TSource, CancellationToken, ValueTask> action,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(source);
        ArgumentNullException.ThrowIfNull(action);
        options = ParallelRunOptions.Of(options);
        ItemsOf.Check<TSource>(source, options);
        return OperatorRun.ActionOutcomesStream(() => ItemsOf.Enumerable(source, options), action, options, cancellationToken);
    }

    /// <inheritdoc cref="ForEachParallelOutcomesStreamAsync{TSource}(IEnumerable{TSource}, Func{TSource, CancellationToken, ValueTask},
    ///     ParallelRunOptions, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Asynchronous)]
    public static IAsyncEnumerable<(int Index, ItemOutcome<TSource> Outcome)> ForEachParallelOutcomesStreamAsync<TSource>(
        this IAsyncEnumerable<TSource> source,
        Func<TSource, CancellationToken, ValueTask> action,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(source);
        ArgumentNullException.ThrowIfNull(action);
        options = ParallelRunOptions.Of(options);
        ItemsOf.Check<TSource>(source, options);
        return OperatorRun.ActionOutcomesStream(() => ItemsOf.AsyncEnumerable(source, options), action, options, cancellationToken);
    }

    /// <inheritdoc cref="ForEachParallelOutcomesStreamAsync{TSource}(IEnumerable{TSource}, Func{TSource, CancellationToken, ValueTask},
    ///     ParallelRunOptions, CancellationToken)"/>
    public static IAsyncEnumerable<(int Index, ItemOutcome<TSource> Outcome)> ForEachParallelOutcomesStreamAsync<TSource>(
        this ChannelReader<TSource> source,
        Func<TSource, CancellationToken, ValueTask> action,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(source);
        ArgumentNullException.ThrowIfNull(action);
        options = ParallelRunOptions.Of(options);
        ResumedRun.Check<TSource>(source, options);
        return OperatorRun.ActionOutcomesStream(() => ItemsOf.Channel(source, options), action, options, cancellationToken);
    }
}
