namespace Weir.Resilience;

/// <summary>The other shapes of calls, for chains whose calls all have one type of result. As <see cref="CallPolicyExtensions"/>.</summary>
public static class PolicyChainExtensions
{
    /// <summary>Makes a call that returns a <see cref="Task{TResult}"/>.</summary>
    /// <typeparam name="TResult">The type of the call's result.</typeparam>
    /// <param name="chain">The policies.</param>
    /// <param name="call">The call, made once per attempt.</param>
    /// <param name="cancellationToken">The caller's token. It ends the waits, and is passed to the call.</param>
    /// <returns>The result of the first attempt that succeeds, or of the fallback. Await it only once, like any value task.</returns>
    /// <exception cref="OperationCanceledException">
    /// The caller cancelled. Or a time limit of a chain passed, and the inner exception is a <see cref="TimeoutException"/>.
    /// </exception>
    public static ValueTask<TResult> ExecuteAsync<TResult>(
        this PolicyChain<TResult> chain, Func<CancellationToken, Task<TResult>> call, CancellationToken cancellationToken = default) =>
        CallShape.Of(chain).ExecuteAsync(static (call, token) => CallShape.Of(call(token)), CallShape.Of(call), cancellationToken);

    /// <summary>Makes a call that returns its result without a task.</summary>
    /// <inheritdoc cref="ExecuteAsync{TResult}(PolicyChain{TResult}, Func{CancellationToken, Task{TResult}}, CancellationToken)"/>
    public static ValueTask<TResult> ExecuteAsync<TResult>(
        this PolicyChain<TResult> chain, Func<CancellationToken, TResult> call, CancellationToken cancellationToken = default) =>
        CallShape.Of(chain).ExecuteAsync(static (call, token) => new ValueTask<TResult>(call(token)), CallShape.Of(call), cancellationToken);

    /// <summary>Makes a call that gets a state and returns a <see cref="Task{TResult}"/>.</summary>
    /// <typeparam name="TState">The type of the state.</typeparam>
    /// <typeparam name="TResult">The type of the call's result.</typeparam>
    /// <inheritdoc cref="ExecuteAsync{TResult}(PolicyChain{TResult}, Func{CancellationToken, Task{TResult}}, CancellationToken)"/>
    /// <param name="chain">The policies.</param>
    /// <param name="call">The call, made once per attempt.</param>
    /// <param name="state">The state passed to the call, so that it needs no closure.</param>
    /// <param name="cancellationToken">The caller's token. It ends the waits, and is passed to the call.</param>
    public static ValueTask<TResult> ExecuteAsync<TState, TResult>(
        this PolicyChain<TResult> chain,
        Func<TState, CancellationToken, Task<TResult>> call,
        TState state,
        CancellationToken cancellationToken = default) =>
        CallShape.Of(chain).ExecuteAsync(static (s, token) => CallShape.Of(s.Call(s.State, token)), CallShape.Of(call, state), cancellationToken);

    /// <summary>Makes a call that gets a state and returns its result without a task.</summary>
    /// <inheritdoc cref="ExecuteAsync{TState, TResult}(PolicyChain{TResult}, Func{TState, CancellationToken, Task{TResult}}, TState, CancellationToken)"/>
    public static ValueTask<TResult> ExecuteAsync<TState, TResult>(
        this PolicyChain<TResult> chain, Func<TState, CancellationToken, TResult> call, TState state, CancellationToken cancellationToken = default) =>
        CallShape.Of(chain).ExecuteAsync(
            static (s, token) => new ValueTask<TResult>(s.Call(s.State, token)), CallShape.Of(call, state), cancellationToken);
}
