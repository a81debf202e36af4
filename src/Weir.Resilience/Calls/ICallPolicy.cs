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
