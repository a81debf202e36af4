using System.Runtime.CompilerServices;
using System.Threading.Channels;
using Weir.Core.Sources;
using Weir.Operators;

namespace Weir;

/// <content>Side effects without results.</content>
public static partial class ParallelOperators
{
    /// <summary>Runs <paramref name="action"/> for the items of <paramref name="source"/>, several at a time.</summary>
    /// <typeparam name="TSource">The type of the items.</typeparam>
    /// <param name="source">The items. Arrays and lists are read in place and must not change during the run. Other sequences are read by one worker at a time, as items are wanted; never the whole sequence ahead.</param>
    /// <param name="action">The call for an item. Runs on the thread pool, never on the caller's thread or context, and for several items at once.</param>
    /// <param name="options">How to run; <see langword="null"/> for the defaults.</param>
    /// <param name="cancellationToken">Cancels the run. The token given to <paramref name="action"/> is cancelled by it, and whenever the run stops.</param>
    /// <returns>A task that ends when everything that was started has ended.</returns>
    /// <exception cref="ArgumentNullException"><paramref name="source"/> or <paramref name="action"/> is <see langword="null"/>. Thrown at the call.</exception>
    /// <exception cref="ArgumentOutOfRangeException">A value of <paramref name="options"/> is out of its range. Thrown at the call.</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled; in every <see cref="ErrorMode"/>, and with that token.</exception>
    /// <exception cref="ItemsFailedException">Items failed under <see cref="ErrorMode.CollectAndContinue"/>. Under <see cref="ErrorMode.FailFast"/> the first item's own exception is thrown instead.</exception>
    /// <remarks>An exception that <paramref name="source"/> itself throws ends the run at once in every mode. Safe to call from several threads.</remarks>
    public static Task ForEachParallelAsync<TSource>(
        this IEnumerable<TSource> source,
        Func<TSource, CancellationToken, ValueTask> action,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(source);
        ArgumentNullException.ThrowIfNull(action);
        options ??= ParallelRunOptions.Default;
        options.Validate();
        return OperatorRun.Discard(SourceOf.Enumerable(source), action, options, cancellationToken);
    }

    /// <summary>Runs <paramref name="action"/> for the items of <paramref name="source"/>, several at a time.</summary>
    /// <typeparam name="TSource">The type of the items.</typeparam>
    /// <param name="source">The items. The sequence is advanced by one worker at a time, as items are wanted.</param>
    /// <param name="action">The call for an item. Runs on the thread pool, never on the caller's thread or context, and for several items at once.</param>
    /// <param name="options">How to run; <see langword="null"/> for the defaults.</param>
    /// <param name="cancellationToken">Cancels the run. The token given to <paramref name="action"/> is cancelled by it, and whenever the run stops.</param>
    /// <returns>A task that ends when everything that was started has ended.</returns>
    /// <exception cref="ArgumentNullException"><paramref name="source"/> or <paramref name="action"/> is <see langword="null"/>. Thrown at the call.</exception>
    /// <exception cref="ArgumentOutOfRangeException">A value of <paramref name="options"/> is out of its range. Thrown at the call.</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled; in every <see cref="ErrorMode"/>, and with that token.</exception>
    /// <exception cref="ItemsFailedException">Items failed under <see cref="ErrorMode.CollectAndContinue"/>. Under <see cref="ErrorMode.FailFast"/> the first item's own exception is thrown instead.</exception>
    /// <remarks>An exception that <paramref name="source"/> itself throws ends the run at once in every mode. Safe to call from several threads.</remarks>
    [OverloadResolutionPriority(Priority.Asynchronous)]
    public static Task ForEachParallelAsync<TSource>(
        this IAsyncEnumerable<TSource> source,
        Func<TSource, CancellationToken, ValueTask> action,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(source);
        ArgumentNullException.ThrowIfNull(action);
        options ??= ParallelRunOptions.Default;
        options.Validate();
        return OperatorRun.Discard(SourceOf.AsyncEnumerable(source), action, options, cancellationToken);
    }

    /// <summary>Runs <paramref name="action"/> for the items of <paramref name="source"/>, several at a time.</summary>
    /// <typeparam name="TSource">The type of the items.</typeparam>
    /// <param name="source">The items. The channel is read by one worker at a time until it is completed, so a channel made for a single reader may be given.</param>
    /// <param name="action">The call for an item. Runs on the thread pool, never on the caller's thread or context, and for several items at once.</param>
    /// <param name="options">How to run; <see langword="null"/> for the defaults.</param>
    /// <param name="cancellationToken">Cancels the run. The token given to <paramref name="action"/> is cancelled by it, and whenever the run stops.</param>
    /// <returns>A task that ends when everything that was started has ended.</returns>
    /// <exception cref="ArgumentNullException"><paramref name="source"/> or <paramref name="action"/> is <see langword="null"/>. Thrown at the call.</exception>
    /// <exception cref="ArgumentOutOfRangeException">A value of <paramref name="options"/> is out of its range. Thrown at the call.</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled; in every <see cref="ErrorMode"/>, and with that token.</exception>
    /// <exception cref="ItemsFailedException">Items failed under <see cref="ErrorMode.CollectAndContinue"/>. Under <see cref="ErrorMode.FailFast"/> the first item's own exception is thrown instead.</exception>
    /// <remarks>An exception that <paramref name="source"/> itself throws ends the run at once in every mode. Safe to call from several threads.</remarks>
    public static Task ForEachParallelAsync<TSource>(
        this ChannelReader<TSource> source,
        Func<TSource, CancellationToken, ValueTask> action,
        ParallelRunOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(source);
        ArgumentNullException.ThrowIfNull(action);
        options ??= ParallelRunOptions.Default;
        options.Validate();
        return OperatorRun.Discard(SourceOf.Channel(source), action, options, cancellationToken);
    }
}
