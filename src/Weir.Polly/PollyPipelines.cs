using System.Runtime.CompilerServices;
using Polly;

namespace Weir.Polly;

/// <summary>
/// Puts a Polly resilience pipeline around the call of each item, in the place of Weir's own policies. What comes back is a selector or an action like any other: for
/// the operators, the runtimes and whatever else takes one.
/// </summary>
/// <remarks>
/// <para>
/// The pipeline runs inside the item: what Polly waits for (a retry's delay, a hedging delay, a rate limiter) holds the item's place under the limit. All attempts of
/// an item are one call for the run's own policies and hooks, so leave the run's retries, circuit breaker, rate limit, attempt timeout and fallback unset. <see cref="ParallelRunOptions.PerItemTimeout"/>
/// stands around the whole pipeline.
/// </para>
/// <para>
/// Polly's exceptions are the items' failures as they are: a <c>TimeoutRejectedException</c>, a <c>BrokenCircuitException</c>. The token that the call gets is Polly's, which the
/// caller, the end of the run and the item's time limit cancel too; then Polly starts no further attempt.
/// </para>
/// <para>A pipeline may be used by any number of runs and items at once, and keeps its state, such as a circuit's, over all of them.</para>
/// </remarks>
public static class PollyPipelines
{
    // As in the operators: an async lambda becomes a ValueTask, which needs nothing around it.
    private const int ForTasks = -1;

    /// <summary>Makes a selector whose calls go through a pipeline.</summary>
    /// <typeparam name="TItem">The items.</typeparam>
    /// <typeparam name="TResult">The results.</typeparam>
    /// <param name="pipeline">The pipeline.</param>
    /// <param name="selector">The call, made once an attempt.</param>
    /// <returns>The selector. A call that suspends costs what Polly allocates; it needs no closure an item.</returns>
    /// <exception cref="ArgumentNullException">An argument is <see langword="null"/>.</exception>
    public static Func<TItem, CancellationToken, ValueTask<TResult>> Around<TItem, TResult>(
        this ResiliencePipeline pipeline, Func<TItem, CancellationToken, ValueTask<TResult>> selector)
    {
        ArgumentNullException.ThrowIfNull(pipeline);
        ArgumentNullException.ThrowIfNull(selector);
        return (item, cancellationToken) =>
            pipeline.ExecuteAsync(static (call, token) => call.selector(call.item, token), (selector, item), cancellationToken);
    }

    /// <summary>Makes a selector whose calls go through a pipeline for results of their type: hedging and fallback are of this kind.</summary>
    /// <typeparam name="TItem">The items.</typeparam>
    /// <typeparam name="TResult">The results.</typeparam>
    /// <param name="pipeline">The pipeline.</param>
    /// <param name="selector">
    /// The call, made once an attempt. With hedging, several attempts of one item run at once, each with a token of its own that is cancelled when another one has won: the run then has more
    /// calls in flight than items.
    /// </param>
    /// <returns>The selector.</returns>
    /// <exception cref="ArgumentNullException">An argument is <see langword="null"/>.</exception>
    public static Func<TItem, CancellationToken, ValueTask<TResult>> Around<TItem, TResult>(
        this ResiliencePipeline<TResult> pipeline, Func<TItem, CancellationToken, ValueTask<TResult>> selector)
    {
        ArgumentNullException.ThrowIfNull(pipeline);
        ArgumentNullException.ThrowIfNull(selector);
        return (item, cancellationToken) =>
            pipeline.ExecuteAsync(static (call, token) => call.selector(call.item, token), (selector, item), cancellationToken);
    }

    /// <summary>Makes an action whose calls go through a pipeline.</summary>
    /// <typeparam name="TItem">The items.</typeparam>
    /// <param name="pipeline">The pipeline.</param>
    /// <param name="action">The call, made once an attempt.</param>
    /// <returns>The action.</returns>
    /// <exception cref="ArgumentNullException">An argument is <see langword="null"/>.</exception>
    public static Func<TItem, CancellationToken, ValueTask> Around<TItem>(this ResiliencePipeline pipeline, Func<TItem, CancellationToken, ValueTask> action)
    {
        ArgumentNullException.ThrowIfNull(pipeline);
        ArgumentNullException.ThrowIfNull(action);
        return (item, cancellationToken) =>
            pipeline.ExecuteAsync(static (call, token) => call.action(call.item, token), (action, item), cancellationToken);
    }

    /// <inheritdoc cref="Around{TItem, TResult}(ResiliencePipeline, Func{TItem, CancellationToken, ValueTask{TResult}})"/>
    [OverloadResolutionPriority(ForTasks)]
    public static Func<TItem, CancellationToken, ValueTask<TResult>> Around<TItem, TResult>(
        this ResiliencePipeline pipeline, Func<TItem, CancellationToken, Task<TResult>> selector)
    {
        ArgumentNullException.ThrowIfNull(selector);
        return pipeline.Around<TItem, TResult>((item, cancellationToken) => new ValueTask<TResult>(selector(item, cancellationToken)));
    }

    /// <inheritdoc cref="Around{TItem, TResult}(ResiliencePipeline{TResult}, Func{TItem, CancellationToken, ValueTask{TResult}})"/>
    [OverloadResolutionPriority(ForTasks)]
    public static Func<TItem, CancellationToken, ValueTask<TResult>> Around<TItem, TResult>(
        this ResiliencePipeline<TResult> pipeline, Func<TItem, CancellationToken, Task<TResult>> selector)
    {
        ArgumentNullException.ThrowIfNull(selector);
        return pipeline.Around<TItem, TResult>((item, cancellationToken) => new ValueTask<TResult>(selector(item, cancellationToken)));
    }

    /// <inheritdoc cref="Around{TItem}(ResiliencePipeline, Func{TItem, CancellationToken, ValueTask})"/>
    [OverloadResolutionPriority(ForTasks)]
    public static Func<TItem, CancellationToken, ValueTask> Around<TItem>(this ResiliencePipeline pipeline, Func<TItem, CancellationToken, Task> action)
    {
        ArgumentNullException.ThrowIfNull(action);
        return pipeline.Around<TItem>((item, cancellationToken) => new ValueTask(action(item, cancellationToken)));
    }
}
