using System.Diagnostics.CodeAnalysis;

namespace Weir.Resilience;

/// <summary>Something that makes a call, whatever its result is: a <see cref="PolicyChain"/> or a <see cref="SharedConcurrencyLimit"/>.</summary>
/// <remarks><see cref="CallPolicyExtensions"/> has the overloads for calls that return a <see cref="Task"/> or no task.</remarks>
[SuppressMessage("Naming", "CA1716:Identifiers should not match keywords", Justification = "The word of all policies and operators.")]
public interface ICallPolicy
{
    /// <summary>Makes a call that gets a state, so that it needs no closure.</summary>
    /// <typeparam name="TState">The type of the state.</typeparam>
    /// <typeparam name="TResult">The type of the call's result.</typeparam>
    /// <param name="call">The call. A chain makes it once per attempt.</param>
    /// <param name="state">The state passed to the call.</param>
    /// <param name="cancellationToken">The caller's token. It ends the waits, and is passed to the call.</param>
    /// <returns>The call's result. Await it only once, like any value task.</returns>
    /// <exception cref="OperationCanceledException">
    /// The caller cancelled. Or a time limit of a chain passed, and the inner exception is a <see cref="TimeoutException"/>.
    /// </exception>
    ValueTask<TResult> ExecuteAsync<TState, TResult>(
        Func<TState, CancellationToken, ValueTask<TResult>> call, TState state, CancellationToken cancellationToken = default);
}

/// <summary>The other shapes of calls, for everything that makes calls of any result.</summary>
/// <remarks>
/// They are extensions so that the compiler looks at them only where the policy's own methods do not fit: with no version of C# is a call ambiguous. A call
/// that returns no task runs on the thread that comes to it, which is the caller's if there is nothing to wait for. They allocate nothing.
/// </remarks>
public static class CallPolicyExtensions
{
    /// <summary>Makes a call that returns a <see cref="Task{TResult}"/>.</summary>
    /// <typeparam name="TResult">The type of the call's result.</typeparam>
    /// <param name="policy">What makes the call.</param>
    /// <param name="call">The call. A chain makes it once per attempt.</param>
    /// <param name="cancellationToken">The caller's token. It ends the waits, and is passed to the call.</param>
    /// <returns>The call's result. Await it only once, like any value task.</returns>
    /// <exception cref="OperationCanceledException">
    /// The caller cancelled. Or a time limit of a chain passed, and the inner exception is a <see cref="TimeoutException"/>.
    /// </exception>
    public static ValueTask<TResult> ExecuteAsync<TResult>(
        this ICallPolicy policy, Func<CancellationToken, Task<TResult>> call, CancellationToken cancellationToken = default) =>
        CallShape.Of(policy).ExecuteAsync(static (call, token) => CallShape.Of(call(token)), CallShape.Of(call), cancellationToken);

    /// <summary>Makes a call that returns a <see cref="Task"/> without a result.</summary>
    /// <inheritdoc cref="ExecuteAsync{TResult}(ICallPolicy, Func{CancellationToken, Task{TResult}}, CancellationToken)"/>
    /// <returns>A task that completes when the call has ended. Await it only once, like any value task.</returns>
    public static ValueTask ExecuteAsync(this ICallPolicy policy, Func<CancellationToken, Task> call, CancellationToken cancellationToken = default) =>
        CallShape.Ended(CallShape.Of(policy).ExecuteAsync(static (call, token) => CallShape.Of(call(token)), CallShape.Of(call), cancellationToken));

    /// <summary>Makes a call that returns its result without a task.</summary>
    /// <inheritdoc cref="ExecuteAsync{TResult}(ICallPolicy, Func{CancellationToken, Task{TResult}}, CancellationToken)"/>
    public static ValueTask<TResult> ExecuteAsync<TResult>(
        this ICallPolicy policy, Func<CancellationToken, TResult> call, CancellationToken cancellationToken = default) =>
        CallShape.Of(policy).ExecuteAsync(static (call, token) => new ValueTask<TResult>(call(token)), CallShape.Of(call), cancellationToken);

    /// <summary>Makes a call that returns nothing.</summary>
    /// <inheritdoc cref="ExecuteAsync(ICallPolicy, Func{CancellationToken, Task}, CancellationToken)"/>
    public static ValueTask ExecuteAsync(this ICallPolicy policy, Action<CancellationToken> call, CancellationToken cancellationToken = default) =>
        CallShape.Ended(CallShape.Of(policy).ExecuteAsync(
            static (call, token) =>
            {
                call(token);
                return default(ValueTask<NoResult>);
            },
            CallShape.Of(call),
            cancellationToken));

    /// <summary>Makes a call that gets a state and returns a <see cref="Task{TResult}"/>.</summary>
    /// <typeparam name="TState">The type of the state.</typeparam>
    /// <typeparam name="TResult">The type of the call's result.</typeparam>
    /// <inheritdoc cref="ExecuteAsync{TResult}(ICallPolicy, Func{CancellationToken, Task{TResult}}, CancellationToken)"/>
    /// <param name="policy">What makes the call.</param>
    /// <param name="call">The call. A chain makes it once per attempt.</param>
    /// <param name="state">The state passed to the call, so that it needs no closure.</param>
    /// <param name="cancellationToken">The caller's token. It ends the waits, and is passed to the call.</param>
    public static ValueTask<TResult> ExecuteAsync<TState, TResult>(
        this ICallPolicy policy, Func<TState, CancellationToken, Task<TResult>> call, TState state, CancellationToken cancellationToken = default) =>
        CallShape.Of(policy).ExecuteAsync(
            static (s, token) => CallShape.Of(s.Call(s.State, token)), CallShape.Of(call, state), cancellationToken);

    /// <summary>Makes a call that gets a state and returns a <see cref="Task"/> without a result.</summary>
    /// <typeparam name="TState">The type of the state.</typeparam>
    /// <inheritdoc cref="ExecuteAsync{TState, TResult}(ICallPolicy, Func{TState, CancellationToken, Task{TResult}}, TState, CancellationToken)"/>
    /// <returns>A task that completes when the call has ended. Await it only once, like any value task.</returns>
    public static ValueTask ExecuteAsync<TState>(
        this ICallPolicy policy, Func<TState, CancellationToken, Task> call, TState state, CancellationToken cancellationToken = default) =>
        CallShape.Ended(CallShape.Of(policy).ExecuteAsync(
            static (s, token) => CallShape.Of(s.Call(s.State, token)), CallShape.Of(call, state), cancellationToken));

    /// <summary>Makes a call that gets a state and returns its result without a task.</summary>
    /// <inheritdoc cref="ExecuteAsync{TState, TResult}(ICallPolicy, Func{TState, CancellationToken, Task{TResult}}, TState, CancellationToken)"/>
    public static ValueTask<TResult> ExecuteAsync<TState, TResult>(
        this ICallPolicy policy, Func<TState, CancellationToken, TResult> call, TState state, CancellationToken cancellationToken = default) =>
        CallShape.Of(policy).ExecuteAsync(
            static (s, token) => new ValueTask<TResult>(s.Call(s.State, token)), CallShape.Of(call, state), cancellationToken);

    /// <summary>Makes a call that gets a state and returns nothing.</summary>
    /// <inheritdoc cref="ExecuteAsync{TState}(ICallPolicy, Func{TState, CancellationToken, Task}, TState, CancellationToken)"/>
    public static ValueTask ExecuteAsync<TState>(
        this ICallPolicy policy, Action<TState, CancellationToken> call, TState state, CancellationToken cancellationToken = default) =>
        CallShape.Ended(CallShape.Of(policy).ExecuteAsync(
            static (s, token) =>
            {
                s.Call(s.State, token);
                return default(ValueTask<NoResult>);
            },
            CallShape.Of(call, state),
            cancellationToken));
}
