namespace Weir.Resilience;

/// <summary>The policies of a <see cref="PolicyChain"/>, in order, outermost first. A policy that is <see langword="null"/> is left out. Immutable.</summary>
public record PolicyChainOptions
{
    /// <summary>How long all attempts may take together, including their delays and waits.</summary>
    /// <value>
    /// More than zero, at most 2^32 - 2 ms; <see langword="null"/>, the default, for no limit. <see cref="Timeout.InfiniteTimeSpan"/> is taken as
    /// <see langword="null"/>.
    /// </value>
    public TimeSpan? TotalTimeout { get; init => field = Require.NoneIfInfinite(value); }

    /// <summary>Which failures are retried. Each attempt passes all policies below again.</summary>
    /// <value>The default is <see langword="null"/>.</value>
    public RetryOptions? Retry { get; init; }

    /// <summary>The circuit breaker of the called service. Use the same instance for everything that calls it.</summary>
    /// <value>The default is <see langword="null"/>.</value>
    public CircuitBreaker? CircuitBreaker { get; init; }

    /// <summary>A circuit breaker for each key, such as each server, instead of one. Calls say what has the key: <see cref="PolicyChain.For"/>.</summary>
    /// <value>The default is <see langword="null"/>.</value>
    public CircuitBreakers? CircuitBreakerByKey { get; init; }

    /// <summary>What an attempt does if the circuit is open.</summary>
    /// <value>The default is <see cref="OpenCircuitMode.FailFast"/>.</value>
    public OpenCircuitMode OpenCircuitMode { get; init; }

    /// <summary>
    /// Limits how many attempts are in flight at once, over everything that uses the same instance. An attempt holds its place while it waits for the rate
    /// limit, but not while it waits for an open circuit or for its next attempt.
    /// </summary>
    /// <value>The default is <see langword="null"/>.</value>
    public SharedConcurrencyLimit? ConcurrencyLimit { get; init; }

    /// <summary>A concurrency limit for each key instead of one. As <see cref="CircuitBreakerByKey"/>.</summary>
    /// <value>The default is <see langword="null"/>.</value>
    public ConcurrencyLimits? ConcurrencyLimitByKey { get; init; }

    /// <summary>A rate limit for each key instead of one. As <see cref="CircuitBreakerByKey"/>.</summary>
    /// <value>The default is <see langword="null"/>.</value>
    public RateLimits? RateLimitByKey { get; init; }

    /// <summary>Paces the attempts, for example a <see cref="TokenBucket"/>. Use the same instance for everything that shares the rate.</summary>
    /// <value>The default is <see langword="null"/>.</value>
    public IRateLimit? RateLimit { get; init; }

    /// <summary>
    /// How long one attempt may take, without the waits before it. An attempt that is given up returns its place, though its call may still run.
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

    /// <summary>The clock for the time limits and the delays before retries. A circuit breaker and a token bucket have their own clocks.</summary>
    /// <value>The default is <see cref="TimeProvider.System"/>.</value>
    public TimeProvider TimeProvider { get; init; } = TimeProvider.System;

    internal bool HasKeys => CircuitBreakerByKey is not null || ConcurrencyLimitByKey is not null || RateLimitByKey is not null;

    internal virtual void Validate()
    {
        Require.NotBoth(CircuitBreaker, CircuitBreakerByKey, nameof(CircuitBreaker), nameof(CircuitBreakerByKey));
        Require.NotBoth(ConcurrencyLimit, ConcurrencyLimitByKey, nameof(ConcurrencyLimit), nameof(ConcurrencyLimitByKey));
        Require.NotBoth(RateLimit, RateLimitByKey, nameof(RateLimit), nameof(RateLimitByKey));
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
