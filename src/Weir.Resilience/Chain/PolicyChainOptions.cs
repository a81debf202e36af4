namespace Weir.Resilience;

/// <summary>The policies of a <see cref="PolicyChain{TResult}"/>, in their order, outermost first. What is <see langword="null"/> is left out. Immutable.</summary>
/// <typeparam name="TResult">What the calls return.</typeparam>
public sealed record PolicyChainOptions<TResult>
{
    /// <summary>What takes the place of a result that could not be had.</summary>
    /// <value>The default is <see langword="null"/>.</value>
    public FallbackOptions<TResult>? Fallback { get; init; }

    /// <summary>How long all attempts may take together, their delays and waits included.</summary>
    /// <value>More than zero, at most 2^32 - 2 ms; <see langword="null"/>, the default, for no limit. <see cref="Timeout.InfiniteTimeSpan"/> is taken as <see langword="null"/>.</value>
    public TimeSpan? TotalTimeout { get; init => field = Require.NoneIfInfinite(value); }

    /// <summary>Which failures are tried again. Each attempt passes everything that follows here anew.</summary>
    /// <value>The default is <see langword="null"/>.</value>
    public RetryOptions? Retry { get; init; }

    /// <summary>The circuit breaker of what is called: the same instance for everything that calls it.</summary>
    /// <value>The default is <see langword="null"/>.</value>
    public CircuitBreaker? CircuitBreaker { get; init; }

    /// <summary>What an attempt does that meets an open circuit.</summary>
    /// <value>The default is <see cref="OpenCircuitMode.FailFast"/>.</value>
    public OpenCircuitMode OpenCircuitMode { get; init; }

    /// <summary>What paces the attempts, as a <see cref="TokenBucket"/>: the same instance for everything that shares the rate.</summary>
    /// <value>The default is <see langword="null"/>.</value>
    public IRateGate? RateLimit { get; init; }

    /// <summary>How long one attempt may take, its waits before it not included.</summary>
    /// <value>More than zero, at most 2^32 - 2 ms; <see langword="null"/>, the default, for no limit. <see cref="Timeout.InfiniteTimeSpan"/> is taken as <see langword="null"/>.</value>
    public TimeSpan? AttemptTimeout { get; init => field = Require.NoneIfInfinite(value); }

    /// <summary>The clock of the time limits and of the delays before retries. A breaker and a bucket have their own.</summary>
    /// <value>The default is <see cref="TimeProvider.System"/>.</value>
    public TimeProvider TimeProvider { get; init; } = TimeProvider.System;

    internal void Validate()
    {
        Fallback?.Validate();
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
