using System.Diagnostics;

namespace Weir.Resilience;

/// <summary>The policies of a <see cref="PolicyChain"/>, in order, outermost first. A policy that is <see langword="null"/> is left out. Immutable.</summary>
public record PolicyChainOptions
{
    /// <summary>How long all attempts may take together, including their delays and waits.</summary>
    /// <value>
    /// More than zero, at most 2^32 - 2 ms; <see langword="null"/>, the default, for no limit. <see cref="Timeout.InfiniteTimeSpan"/> is taken as
    /// <see langword="null"/>.
    /// </value>
    /// <remarks>
    /// A wait that cannot end in time is not begun, and the exception says so. An attempt whose tokens of a bucket would come too late is refused at once, with
    /// a <see cref="RateLimitRejectedException"/>; one that would wait too long for an open circuit, with a <see cref="CircuitBreakerOpenException"/>; one that an
    /// <see cref="AdaptiveLimit"/> would make end too late, with a <see cref="ConcurrencyLimitRejectedException"/>. A delay before another attempt that is longer
    /// than what is left ends the call with the error that it has.
    /// </remarks>
    public TimeSpan? TotalTimeout { get; init => field = Require.NoneIfInfinite(value); }

    /// <summary>Which failures are retried. Each attempt passes all policies below again.</summary>
    /// <value>The default is <see langword="null"/>.</value>
    public RetryOptions? Retry { get; init; }

    /// <summary>
    /// The circuit breaker of the called service: <see cref="CircuitBreakerOptions"/> for one of the chain's own, a
    /// <see cref="Weir.Resilience.CircuitBreaker"/> that is shared with everything that calls the service, or one for each key, such as each server, from
    /// <see cref="CircuitBreakers.ByKey{TItem, TKey}"/>.
    /// </summary>
    /// <value>The default is <see langword="null"/>.</value>
    /// <remarks>With a policy by key, calls say what has the key: <see cref="PolicyChain.For"/>.</remarks>
    public CircuitBreakerOptions? CircuitBreaker { get; init; }

    /// <summary>What an attempt does if the circuit is open.</summary>
    /// <value>The default is <see cref="OpenCircuitMode.FailFast"/>.</value>
    public OpenCircuitMode OpenCircuitMode { get; init; }

    /// <summary>
    /// Limits how many attempts are in flight at once, over everything that uses the same <see cref="SharedConcurrencyLimit"/>, or for each key those of
    /// <c>ByKey</c> of <see cref="ConcurrencyLimits"/>. An attempt holds its permit while it waits for the rate limit, but not while it waits for an open
    /// circuit or for its next attempt.
    /// </summary>
    /// <value>The default is <see langword="null"/>.</value>
    public IConcurrencyLimitSetting? ConcurrencyLimit { get; init; }

    /// <summary>
    /// Paces the attempts: <see cref="RateLimitOptions"/> for a rate of the chain's own, a <see cref="TokenBucket"/> or another <see cref="IRateLimit"/> that
    /// is shared, or one for each key from <see cref="RateLimits.ByKey{TItem, TKey}"/>.
    /// </summary>
    /// <value>The default is <see langword="null"/>.</value>
    public RateLimitOptions? RateLimit { get; init; }

    /// <summary>
    /// How long one attempt may take, without the waits before it. An attempt that is given up returns its permit, though its call may still run.
    /// </summary>
    /// <value>
    /// More than zero, at most 2^32 - 2 ms; <see langword="null"/>, the default, for no limit. <see cref="Timeout.InfiniteTimeSpan"/> is taken as
    /// <see langword="null"/>.
    /// </value>
    public TimeSpan? AttemptTimeout { get; init => field = Require.NoneIfInfinite(value); }

    /// <summary>What metrics call it, in the attribute <c>weir.policy.name</c>, such as the name of the called service.</summary>
    /// <value>
    /// <see langword="null"/>, the default, for no name. Chains of one name are counted together, and each name is a time series: use few.
    /// </value>
    public string? Name { get; init; }

    /// <summary>The clock for the time limits and the delays before retries. A circuit breaker and a token bucket that are
    /// shared have their own clocks.</summary>
    /// <value>The default is <see cref="TimeProvider.System"/>.</value>
    public TimeProvider TimeProvider { get; init; } = TimeProvider.System;

    internal bool HasKeys => CircuitBreaker?.Instance is CircuitBreakers || ConcurrencyLimit is ConcurrencyLimits || RateLimit?.Instance is RateLimits
        || Retry?.Budget is RetryBudgets;

    /// <summary>Options with the policies that the chain has made, in place of the options of these.</summary>
    internal PolicyChainOptions WithOwnPolicies() => CircuitBreaker is not { IsShared: false } && RateLimit is not { IsShared: false } ? this : this with
    {
        CircuitBreaker = PolicySettings.Made(CircuitBreaker, TimeProvider),
        RateLimit = PolicySettings.Made(RateLimit, TimeProvider),
    };

    internal virtual void Validate()
    {
        CircuitBreaker?.ValidateSetting();
        PolicySettings.Validate(ConcurrencyLimit);
        RateLimit?.ValidateSetting();
        Require.Positive(TotalTimeout, nameof(TotalTimeout));
        Retry?.Validate();
        Require.Positive(AttemptTimeout, nameof(AttemptTimeout));
        if (OpenCircuitMode is not (OpenCircuitMode.FailFast or OpenCircuitMode.WaitForHalfOpen))
        {
            throw new ArgumentOutOfRangeException(nameof(OpenCircuitMode), OpenCircuitMode, $"{nameof(OpenCircuitMode)} must be FailFast or WaitForHalfOpen.");
        }

        ArgumentNullException.ThrowIfNull(TimeProvider, nameof(TimeProvider));
    }
}

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
