using System.Runtime.CompilerServices;
using System.Threading.Channels;
using Weir.Core.Sources;
using Weir.Operators;

namespace Weir;

/// <content>Results as a list.</content>
public static partial class ParallelOperators
{
    /// <summary>
    /// Runs <paramref name="selector"/> for each item of <paramref name="source"/>, several at a time, and returns the results in source order.
    /// </summary>
    /// <typeparam name="TSource">The type of the items.</typeparam>
    /// <typeparam name="TResult">The type of the results.</typeparam>
    /// <param name="source">
    /// The items. Arrays and lists are read in place and must not change during the run. Other sequences are read by one worker at a time, and only as items
    /// are wanted, never all at once. A channel is read until it is completed; it may be a single-reader channel.
    /// </param>
    /// <param name="selector">The call for an item. It runs on the thread pool, never on the caller's thread or context, and for several items at once.</param>
    /// <param name="options">How to run the calls; <see langword="null"/> for the defaults.</param>
    /// <param name="cancellationToken">Cancels the run. The token passed to <paramref name="selector"/> is cancelled then, and whenever the run stops.</param>
    /// <returns>The results in source order. Under <see cref="ErrorMode.BestEffort"/>, failed items are left out.</returns>
    /// <exception cref="ArgumentNullException">
    /// <paramref name="source"/> or <paramref name="selector"/> is <see langword="null"/>. Thrown at the call.
    /// </exception>
    /// <exception cref="ArgumentOutOfRangeException">A value of <paramref name="options"/> is out of range. Thrown at the call.</exception>
    /// <exception cref="OperationCanceledException">
    /// <paramref name="cancellationToken"/> was cancelled. Thrown with that token, in every <see cref="ErrorMode"/>.
    /// </exception>
    /// <exception cref="ItemsFailedException{TResult}">
    /// Items failed under <see cref="ErrorMode.CollectAndContinue"/>. Under <see cref="ErrorMode.FailFast"/>, the first failed item's own exception is thrown
    /// instead.
    /// </exception>
    /// <remarks>
    /// The task completes when everything that was started has ended, even after a failure or a cancellation. An exception from <paramref name="source"/>
    /// itself ends the run at once in every mode. This method is thread-safe.
    /// </remarks>
    public static Task<List<TResult>> SelectParallelAsync<TSource, TResult>(
        this IEnumerable<TSource> source,
        Func<TSource, CancellationToken, ValueTask<TResult>> selector,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(source);
        ArgumentNullException.ThrowIfNull(selector);
        options = ParallelRunOptions.Of(options);
        return OperatorRun.List(ItemsOf.Enumerable(source, options), selector, options, cancellationToken);
    }

    /// <inheritdoc cref="SelectParallelAsync{TSource, TResult}(IEnumerable{TSource}, Func{TSource, CancellationToken, ValueTask{TResult}}, ParallelRunOptions,
    ///     CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Asynchronous)]
    public static Task<List<TResult>> SelectParallelAsync<TSource, TResult>(
        this IAsyncEnumerable<TSource> source,
        Func<TSource, CancellationToken, ValueTask<TResult>> selector,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(source);
        ArgumentNullException.ThrowIfNull(selector);
        options = ParallelRunOptions.Of(options);
        return OperatorRun.List(ItemsOf.AsyncEnumerable(source, options), selector, options, cancellationToken);
    }

    /// <inheritdoc cref="SelectParallelAsync{TSource, TResult}(IEnumerable{TSource}, Func{TSource, CancellationToken, ValueTask{TResult}}, ParallelRunOptions,
    ///     CancellationToken)"/>
    public static Task<List<TResult>> SelectParallelAsync<TSource, TResult>(
        this ChannelReader<TSource> source,
        Func<TSource, CancellationToken, ValueTask<TResult>> selector,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(source);
        ArgumentNullException.ThrowIfNull(selector);
        options = ParallelRunOptions.Of(options);
        return OperatorRun.List(ItemsOf.Channel(source, options), selector, options, cancellationToken);
    }

    // Results as a stream.

    /// <summary>
    /// Runs <paramref name="selector"/> for each item of <paramref name="source"/>, several at a time, and yields the results as they become available.
    /// </summary>
    /// <typeparam name="TSource">The type of the items.</typeparam>
    /// <typeparam name="TResult">The type of the results.</typeparam>
    /// <param name="source">
    /// The items. Arrays and lists are read in place and must not change during the run. Other sequences are read by one worker at a time, and only as items
    /// are wanted, never all at once. A channel is read until it is completed; it may be a single-reader channel.
    /// </param>
    /// <param name="selector">The call for an item. It runs on the thread pool, never on the caller's thread or context, and for several items at once.</param>
    /// <param name="options">How to run the calls; <see langword="null"/> for the defaults.</param>
    /// <param name="cancellationToken">Cancels the run. The token passed to <paramref name="selector"/> is cancelled then, and whenever the run stops.</param>
    /// <returns>
    /// The results in the order of completion, or in source order with <see cref="ParallelRunOptions.OrderedOutput"/>. Nothing runs before the first step of an
    /// enumeration, and each enumeration is a separate run.
    /// </returns>
    /// <exception cref="ArgumentNullException">
    /// <paramref name="source"/> or <paramref name="selector"/> is <see langword="null"/>. Thrown at the call.
    /// </exception>
    /// <exception cref="ArgumentOutOfRangeException">A value of <paramref name="options"/> is out of range. Thrown at the call.</exception>
    /// <exception cref="OperationCanceledException">
    /// <paramref name="cancellationToken"/> was cancelled. Thrown with that token, in every <see cref="ErrorMode"/>.
    /// </exception>
    /// <exception cref="ItemsFailedException">
    /// Items failed under <see cref="ErrorMode.CollectAndContinue"/>. Under <see cref="ErrorMode.FailFast"/>, the first failed item's own exception is thrown
    /// instead.
    /// </exception>
    /// <remarks>
    /// At most <see cref="ParallelRunOptions.MaxDegreeOfParallelism"/> + <see cref="OutputOptions.ChannelCapacity"/> items are between the source and the
    /// consumer at any time. Leaving the enumeration early, by <c>break</c>, an exception or disposal, cancels the running items and waits for them. Under
    /// <see cref="ErrorMode.CollectAndContinue"/>, the stream yields all results and then throws. Several threads can enumerate the sequence at once, but each
    /// enumerator is for one thread at a time.
    /// </remarks>
    public static IAsyncEnumerable<TResult> SelectParallelStreamAsync<TSource, TResult>(
        this IEnumerable<TSource> source,
        Func<TSource, CancellationToken, ValueTask<TResult>> selector,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(source);
        ArgumentNullException.ThrowIfNull(selector);
        options = ParallelRunOptions.Of(options);
        ItemsOf.Check<TSource>(source, options);
        return OperatorRun.Stream(() => ItemsOf.Enumerable(source, options), selector, options, cancellationToken);
    }

    /// <inheritdoc cref="SelectParallelStreamAsync{TSource, TResult}(IEnumerable{TSource}, Func{TSource, CancellationToken, ValueTask{TResult}},
    ///     ParallelRunOptions, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Asynchronous)]
    public static IAsyncEnumerable<TResult> SelectParallelStreamAsync<TSource, TResult>(
        this IAsyncEnumerable<TSource> source,
        Func<TSource, CancellationToken, ValueTask<TResult>> selector,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(source);
        ArgumentNullException.ThrowIfNull(selector);
        options = ParallelRunOptions.Of(options);
        ItemsOf.Check<TSource>(source, options);
        return OperatorRun.Stream(() => ItemsOf.AsyncEnumerable(source, options), selector, options, cancellationToken);
    }

    /// <inheritdoc cref="SelectParallelStreamAsync{TSource, TResult}(IEnumerable{TSource}, Func{TSource, CancellationToken, ValueTask{TResult}},
    ///     ParallelRunOptions, CancellationToken)"/>
    public static IAsyncEnumerable<TResult> SelectParallelStreamAsync<TSource, TResult>(
        this ChannelReader<TSource> source,
        Func<TSource, CancellationToken, ValueTask<TResult>> selector,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(source);
        ArgumentNullException.ThrowIfNull(selector);
        options = ParallelRunOptions.Of(options);
        ResumedRun.Check<TSource>(source, options);
        return OperatorRun.Stream(() => ItemsOf.Channel(source, options), selector, options, cancellationToken);
    }

    // One outcome per item.

    /// <summary>Runs <paramref name="selector"/> for each item of <paramref name="source"/>, several at a time, and returns how each item ended.</summary>
    /// <typeparam name="TSource">The type of the items.</typeparam>
    /// <typeparam name="TResult">The type of the results.</typeparam>
    /// <param name="source">
    /// The items. Arrays and lists are read in place and must not change during the run. Other sequences are read by one worker at a time, and only as items
    /// are wanted, never all at once. A channel is read until it is completed; it may be a single-reader channel.
    /// </param>
    /// <param name="selector">The call for an item. It runs on the thread pool, never on the caller's thread or context, and for several items at once.</param>
    /// <param name="options">How to run the calls; <see langword="null"/> for the defaults.</param>
    /// <param name="cancellationToken">Cancels the run. The token passed to <paramref name="selector"/> is cancelled then, and whenever the run stops.</param>
    /// <returns>
    /// One outcome per item, in source order. An item's failure is never thrown, and <see cref="ParallelRunOptions.ErrorMode"/> has no effect: all items run,
    /// unless <see cref="RunHooks.OnErrorAsync"/> stops the run. Items that have not started by then are <see cref="ItemStatus.NotRun"/>.
    /// </returns>
    /// <exception cref="ArgumentNullException">
    /// <paramref name="source"/> or <paramref name="selector"/> is <see langword="null"/>. Thrown at the call.
    /// </exception>
    /// <exception cref="ArgumentOutOfRangeException">A value of <paramref name="options"/> is out of range. Thrown at the call.</exception>
    /// <exception cref="OperationCanceledException">
    /// <paramref name="cancellationToken"/> was cancelled. Thrown with that token, in every <see cref="ErrorMode"/>.
    /// </exception>
    /// <remarks>An exception from <paramref name="source"/> itself is thrown. This method is thread-safe.</remarks>
    public static Task<ItemOutcome<TSource, TResult>[]> SelectParallelOutcomesAsync<TSource, TResult>(
        this IEnumerable<TSource> source,
        Func<TSource, CancellationToken, ValueTask<TResult>> selector,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(source);
        ArgumentNullException.ThrowIfNull(selector);
        options = ParallelRunOptions.Of(options);
        return OperatorRun.Outcomes(ItemsOf.Enumerable(source, options), selector, options, cancellationToken);
    }

    /// <inheritdoc cref="SelectParallelOutcomesAsync{TSource, TResult}(IEnumerable{TSource}, Func{TSource, CancellationToken, ValueTask{TResult}},
    ///     ParallelRunOptions, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Asynchronous)]
    public static Task<ItemOutcome<TSource, TResult>[]> SelectParallelOutcomesAsync<TSource, TResult>(
        this IAsyncEnumerable<TSource> source,
        Func<TSource, CancellationToken, ValueTask<TResult>> selector,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(source);
        ArgumentNullException.ThrowIfNull(selector);
        options = ParallelRunOptions.Of(options);
        return OperatorRun.Outcomes(ItemsOf.AsyncEnumerable(source, options), selector, options, cancellationToken);
    }

    /// <inheritdoc cref="SelectParallelOutcomesAsync{TSource, TResult}(IEnumerable{TSource}, Func{TSource, CancellationToken, ValueTask{TResult}},
    ///     ParallelRunOptions, CancellationToken)"/>
    public static Task<ItemOutcome<TSource, TResult>[]> SelectParallelOutcomesAsync<TSource, TResult>(
        this ChannelReader<TSource> source,
        Func<TSource, CancellationToken, ValueTask<TResult>> selector,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(source);
        ArgumentNullException.ThrowIfNull(selector);
        options = ParallelRunOptions.Of(options);
        return OperatorRun.Outcomes(ItemsOf.Channel(source, options), selector, options, cancellationToken);
    }

    // Outcomes as a stream.

    /// <summary>
    /// Runs <paramref name="selector"/> for each item of <paramref name="source"/>, several at a time, and yields how each item ended as soon as it has.
    /// </summary>
    /// <typeparam name="TSource">The type of the items.</typeparam>
    /// <typeparam name="TResult">The type of the results.</typeparam>
    /// <param name="source">
    /// The items. Arrays and lists are read in place and must not change during the run. Other sequences are read by one worker at a time, and only as items
    /// are wanted, never all at once. A channel is read until it is completed; it may be a single-reader channel.
    /// </param>
    /// <param name="selector">The call for an item. It runs on the thread pool, never on the caller's thread or context, and for several items at once.</param>
    /// <param name="options">How to run the calls; <see langword="null"/> for the defaults.</param>
    /// <param name="cancellationToken">Cancels the run. The token passed to <paramref name="selector"/> is cancelled then, and whenever the run stops.</param>
    /// <returns>
    /// Each item's index and outcome, in the order of completion, or in source order with <see cref="ParallelRunOptions.OrderedOutput"/>. An item's failure
    /// is never thrown, and <see cref="ParallelRunOptions.ErrorMode"/> has no effect: all items run, unless <see cref="RunHooks.OnErrorAsync"/>
    /// stops the run. Items that have not started by then are <see cref="ItemStatus.NotRun"/>, and in the order of completion they come last. Nothing runs
    /// before the first step of an enumeration, and each enumeration is a separate run.
    /// </returns>
    /// <exception cref="ArgumentNullException">
    /// <paramref name="source"/> or <paramref name="selector"/> is <see langword="null"/>. Thrown at the call.
    /// </exception>
    /// <exception cref="ArgumentOutOfRangeException">A value of <paramref name="options"/> is out of range. Thrown at the call.</exception>
    /// <exception cref="OperationCanceledException">
    /// <paramref name="cancellationToken"/> was cancelled. Thrown with that token, in every <see cref="ErrorMode"/>.
    /// </exception>
    /// <remarks>
    /// At most <see cref="ParallelRunOptions.MaxDegreeOfParallelism"/> + <see cref="OutputOptions.ChannelCapacity"/> items are between the source and the
    /// consumer at any time. Leaving the enumeration early, by <c>break</c>, an exception or disposal, cancels the running items and waits for them. An
    /// exception from <paramref name="source"/> itself is thrown. Indices above <see cref="int.MaxValue"/>, which only an endless stream reaches, are
    /// <see cref="int.MaxValue"/>. Several threads can enumerate the sequence at once, but each enumerator is for one thread at a time.
    /// </remarks>
    public static IAsyncEnumerable<(int Index, ItemOutcome<TSource, TResult> Outcome)> SelectParallelOutcomesStreamAsync<TSource, TResult>(
        this IEnumerable<TSource> source,
        Func<TSource, CancellationToken, ValueTask<TResult>> selector,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(source);
        ArgumentNullException.ThrowIfNull(selector);
        options = ParallelRunOptions.Of(options);
        ItemsOf.Check<TSource>(source, options);
        return OperatorRun.OutcomesStream(() => ItemsOf.Enumerable(source, options), selector, options, cancellationToken);
    }

    /// <inheritdoc cref="SelectParallelOutcomesStreamAsync{TSource, TResult}(IEnumerable{TSource}, Func{TSource, CancellationToken, ValueTask{TResult}},
    ///     ParallelRunOptions, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Asynchronous)]
    public static IAsyncEnumerable<(int Index, ItemOutcome<TSource, TResult> Outcome)> SelectParallelOutcomesStreamAsync<TSource, TResult>(
        this IAsyncEnumerable<TSource> source,
        Func<TSource, CancellationToken, ValueTask<TResult>> selector,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(source);
        ArgumentNullException.ThrowIfNull(selector);
        options = ParallelRunOptions.Of(options);
        ItemsOf.Check<TSource>(source, options);
        return OperatorRun.OutcomesStream(() => ItemsOf.AsyncEnumerable(source, options), selector, options, cancellationToken);
    }

    /// <inheritdoc cref="SelectParallelOutcomesStreamAsync{TSource, TResult}(IEnumerable{TSource}, Func{TSource, CancellationToken, ValueTask{TResult}},
    ///     ParallelRunOptions, CancellationToken)"/>
    public static IAsyncEnumerable<(int Index, ItemOutcome<TSource, TResult> Outcome)> SelectParallelOutcomesStreamAsync<TSource, TResult>(
        this ChannelReader<TSource> source,
        Func<TSource, CancellationToken, ValueTask<TResult>> selector,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(source);
        ArgumentNullException.ThrowIfNull(selector);
        options = ParallelRunOptions.Of(options);
        ResumedRun.Check<TSource>(source, options);
        return OperatorRun.OutcomesStream(() => ItemsOf.Channel(source, options), selector, options, cancellationToken);
    }
}
