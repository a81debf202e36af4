using System.Runtime.CompilerServices;
using Polly;

namespace Weir.Polly;

/// <summary>
/// Puts a Polly resilience pipeline around the call of each item, in place of Weir's own policies. The result is an ordinary selector or action, for the
/// operators, the runtimes and any other method that accepts one.
/// </summary>
/// <remarks>
/// <para>
/// The pipeline runs inside the item: while Polly waits (for a retry's delay, a hedging delay or a rate limiter), the item keeps its place under the limit. The
/// run's own policies and hooks see all attempts of an item as one call, so leave the run's retries, circuit breaker, rate limit, attempt timeout and fallback
/// unset. <see cref="ParallelRunOptions.PerItemTimeout"/> applies around the whole pipeline.
/// </para>
/// <para>
/// Polly's exceptions become the items' failures unchanged: a <c>TimeoutRejectedException</c>, a <c>BrokenCircuitException</c>. The call gets Polly's token,
/// which the caller, the end of the run and the item's time limit also cancel. Then Polly starts no further attempt.
/// </para>
/// <para>Any number of runs and items can use a pipeline at once. It keeps its state, such as that of a circuit, across all of them.</para>
/// </remarks>
public static class PollyPipelines
{
    // As in the operators: an async lambda converts to the ValueTask overload, which needs no wrapper.
    private const int ForTasks = -1;

    /// <summary>Creates a selector whose calls go through a pipeline.</summary>
    /// <typeparam name="TItem">The type of the items.</typeparam>
    /// <typeparam name="TResult">The type of the results.</typeparam>
    /// <param name="pipeline">The pipeline.</param>
    /// <param name="selector">The call, made once per attempt.</param>
    /// <returns>The selector. A call that suspends costs only what Polly allocates; there is no closure per item.</returns>
    /// <exception cref="ArgumentNullException">An argument is <see langword="null"/>.</exception>
    public static Func<TItem, CancellationToken, ValueTask<TResult>> Around<TItem, TResult>(
        this ResiliencePipeline pipeline, Func<TItem, CancellationToken, ValueTask<TResult>> selector)
    {
        ArgumentNullException.ThrowIfNull(pipeline);
        ArgumentNullException.ThrowIfNull(selector);
        return (item, cancellationToken) =>
            pipeline.ExecuteAsync(static (call, token) => call.selector(call.item, token), (selector, item), cancellationToken);
    }

    /// <summary>Creates a selector whose calls go through a pipeline that is typed for their results, as hedging and fallback need.</summary>
    /// <typeparam name="TItem">The type of the items.</typeparam>
    /// <typeparam name="TResult">The type of the results.</typeparam>
    /// <param name="pipeline">The pipeline.</param>
    /// <param name="selector">
    /// The call, made once per attempt. With hedging, several attempts of one item run at once, so the run has more calls in flight than items. Each attempt
    /// has its own token, which is cancelled when another attempt has won.
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

    /// <summary>Creates an action whose calls go through a pipeline.</summary>
    /// <typeparam name="TItem">The type of the items.</typeparam>
    /// <param name="pipeline">The pipeline.</param>
    /// <param name="action">The call, made once per attempt.</param>
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
    public static Func<TItem, CancellationToken, ValueTask> Around<TItem>(
        this ResiliencePipeline pipeline, Func<TItem, CancellationToken, Task> action)
    {
        ArgumentNullException.ThrowIfNull(action);
        return pipeline.Around<TItem>((item, cancellationToken) => new ValueTask(action(item, cancellationToken)));
    }
}
