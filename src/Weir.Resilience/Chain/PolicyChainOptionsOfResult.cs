namespace Weir.Resilience;

/// <summary>
/// The policies of a <see cref="PolicyChain{TResult}"/>: those of any chain, and what depends on results. A policy that is <see langword="null"/> is left out.
/// Immutable.
/// </summary>
/// <typeparam name="TResult">The type of the calls' results.</typeparam>
public sealed record PolicyChainOptions<TResult> : PolicyChainOptions
{
    /// <summary>Supplies a result when the call fails.</summary>
    /// <value>The default is <see langword="null"/>.</value>
    public FallbackOptions<TResult>? Fallback { get; init; }

    /// <summary>Decides whether an attempt is followed by another, from its result or its exception.</summary>
    /// <value>
    /// <see langword="null"/>, the default, for what <see cref="PolicyChainOptions.Retry"/> says of exceptions. Needs it, and replaces its
    /// <see cref="RetryOptions.IsTransient"/>: you cannot set both.
    /// </value>
    /// <remarks>
    /// It is asked after every attempt that another may follow, also after one that a policy refused. After the last attempt it is not asked: a result is
    /// returned, whatever it is, and an exception is thrown. A refused result that is disposable is disposed of. For the circuit breaker, every result is a
    /// success. An exception from the function ends the call.
    /// </remarks>
    public Func<AttemptOutcome<TResult>, bool>? ShouldRetry { get; init; }

    /// <summary>Returns the delay that an attempt's result or exception asks for; <see langword="null"/> if it asks for none.</summary>
    /// <value>
    /// <see langword="null"/>, the default, for the <see cref="RetryOptions.DelayHint"/> of <see cref="PolicyChainOptions.Retry"/>. Needs
    /// <see cref="ShouldRetry"/>.
    /// </value>
    public Func<AttemptOutcome<TResult>, TimeSpan?>? DelayHint { get; init; }

    internal override void Validate()
    {
        Fallback?.Validate();
        base.Validate();
        Require.Other(ShouldRetry, Retry, nameof(ShouldRetry), nameof(Retry));
        Require.Other(DelayHint, ShouldRetry, nameof(DelayHint), nameof(ShouldRetry));
        Require.NotBoth(Retry?.IsTransient, ShouldRetry, "Retry.IsTransient", nameof(ShouldRetry));
    }
}
