using System.Collections.Concurrent;

namespace Weir.Resilience;

/// <summary>Applies all policies to calls without a result, or with results of any type, in the order of <see cref="PolicyChain{TResult}"/>.</summary>
/// <remarks>
/// One instance serves any number of calls and threads at once. Build it once and keep it. A call that succeeds without suspending allocates nothing. The rules
/// for cancellation are those of <see cref="PolicyChain{TResult}"/>, which has a fallback and retries for results as well.
/// </remarks>
public sealed class PolicyChain : ICallPolicy
{
    private readonly PolicyChainOptions _options;
    private readonly PolicyChain<NoResult> _withoutResult;
    private readonly Func<KeyedUse>? _use;

    // By the type of the result.
    private readonly ConcurrentDictionary<Type, object> _chains = new();

    /// <summary>Creates a chain from the options.</summary>
    /// <param name="options">The policies.</param>
    /// <exception cref="ArgumentException"><paramref name="options"/> are those of a chain with one type of results.</exception>
    /// <exception cref="ArgumentOutOfRangeException">A value is out of range. The exception names the property.</exception>
    public PolicyChain(PolicyChainOptions options)
    {
        ArgumentNullException.ThrowIfNull(options);
        if (options.GetType() != typeof(PolicyChainOptions))
        {
            throw new ArgumentException("Options with a type of results are for PolicyChain<TResult>: a chain of any result has no fallback.", nameof(options));
        }

        _withoutResult = new PolicyChain<NoResult>(options);

        // With the policies that it has made: those of the chain, whatever the type of the results.
        _options = _withoutResult.Options;
    }

    private PolicyChain(PolicyChain other, Func<KeyedUse> use)
    {
        _options = other._options;
        _use = use;
        _withoutResult = new PolicyChain<NoResult>(other._withoutResult, use);
    }

    /// <inheritdoc cref="PolicyChain{TResult}.For{TItem}(TItem)"/>
    public PolicyChain For<TItem>(TItem item) => new(this, PolicyChain<NoResult>.UseOf(_options, item, _use is not null));

    /// <summary>Makes a call without a result, with all policies.</summary>
    /// <param name="call">
    /// The call, made once per attempt. Its token is cancelled by the caller and at both time limits, and is valid until the attempt ends.
    /// </param>
    /// <param name="cancellationToken">The caller's token.</param>
    /// <returns>A task that completes when an attempt has succeeded. Await it only once, like any value task.</returns>
    /// <inheritdoc cref="PolicyChain{TResult}.ExecuteAsync(Func{CancellationToken, ValueTask{TResult}}, CancellationToken)" path="/exception"/>
    public ValueTask ExecuteAsync(Func<CancellationToken, ValueTask> call, CancellationToken cancellationToken = default) =>
        CallShape.Ended(_withoutResult.ExecuteAsync(static (call, token) => CallShape.Of(call(token)), CallShape.Of(call), cancellationToken));

    /// <summary>Makes a call without a result, with all policies. The call gets a state, so that it needs no closure.</summary>
    /// <typeparam name="TState">The type of the state.</typeparam>
    /// <inheritdoc cref="ExecuteAsync(Func{CancellationToken, ValueTask}, CancellationToken)"/>
    /// <param name="call">
    /// The call, made once per attempt. Its token is cancelled by the caller and at both time limits, and is valid until the attempt ends.
    /// </param>
    /// <param name="state">The state passed to the call.</param>
    /// <param name="cancellationToken">The caller's token.</param>
    public ValueTask ExecuteAsync<TState>(
        Func<TState, CancellationToken, ValueTask> call, TState state, CancellationToken cancellationToken = default) =>
        CallShape.Ended(_withoutResult.ExecuteAsync(
            static (s, token) => CallShape.Of(s.Call(s.State, token)), CallShape.Of(call, state), cancellationToken));

    /// <summary>Makes a call with all policies.</summary>
    /// <typeparam name="TResult">The type of the call's result.</typeparam>
    /// <inheritdoc cref="PolicyChain{TResult}.ExecuteAsync(Func{CancellationToken, ValueTask{TResult}}, CancellationToken)"/>
    public ValueTask<TResult> ExecuteAsync<TResult>(Func<CancellationToken, ValueTask<TResult>> call, CancellationToken cancellationToken = default) =>
        Of<TResult>().ExecuteAsync(call, cancellationToken);

    /// <summary>Makes a call with all policies. The call gets a state, so that it needs no closure.</summary>
    /// <typeparam name="TState">The type of the state.</typeparam>
    /// <typeparam name="TResult">The type of the call's result.</typeparam>
    /// <inheritdoc cref="PolicyChain{TResult}.ExecuteAsync{TState}(Func{TState, CancellationToken, ValueTask{TResult}}, TState, CancellationToken)"/>
    public ValueTask<TResult> ExecuteAsync<TState, TResult>(
        Func<TState, CancellationToken, ValueTask<TResult>> call, TState state, CancellationToken cancellationToken = default) =>
        Of<TResult>().ExecuteAsync(call, state, cancellationToken);

    private PolicyChain<TResult> Of<TResult>() =>
        typeof(TResult) == typeof(NoResult) ? (PolicyChain<TResult>)(object)_withoutResult
        : (PolicyChain<TResult>)_chains.GetOrAdd(typeof(TResult), static (_, chain) => chain.Make<TResult>(), this);

    private PolicyChain<TResult> Make<TResult>()
    {
        PolicyChain<TResult> chain = new(_options);
        return _use is null ? chain : new PolicyChain<TResult>(chain, _use);
    }
}
