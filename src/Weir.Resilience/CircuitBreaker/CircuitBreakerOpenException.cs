namespace Weir.Resilience;

/// <summary>The call was not made, because the circuit breaker rejected it.</summary>
public sealed class CircuitBreakerOpenException : Exception
{
    /// <summary>Creates the exception of an open circuit.</summary>
    public CircuitBreakerOpenException()
        : this(CircuitBreakerState.Open, TimeSpan.Zero)
    {
    }

    /// <summary>Creates the exception of an open circuit.</summary>
    /// <param name="message">The message.</param>
    public CircuitBreakerOpenException(string message)
        : base(message) => State = CircuitBreakerState.Open;

    /// <summary>Creates the exception of an open circuit.</summary>
    /// <param name="message">The message.</param>
    /// <param name="innerException">What opened it.</param>
    public CircuitBreakerOpenException(string message, Exception? innerException)
        : base(message, innerException) => State = CircuitBreakerState.Open;

    /// <summary>Creates the exception for a rejected call.</summary>
    /// <param name="state">The state of the circuit that rejected the call.</param>
    /// <param name="retryAfter">The time until the circuit may admit a call.</param>
    /// <param name="innerException">What opened it.</param>
    public CircuitBreakerOpenException(CircuitBreakerState state, TimeSpan retryAfter, Exception? innerException = null)
        : base(state == CircuitBreakerState.HalfOpen
            ? "The circuit is half-open and all its probes are taken."
            : "The circuit is open.",
            innerException)
    {
        State = state;
        RetryAfter = retryAfter;
    }

    /// <summary>
    /// The state of the circuit when it rejected the call: <see cref="CircuitBreakerState.Open"/> or <see cref="CircuitBreakerState.HalfOpen"/>.
    /// </summary>
    public CircuitBreakerState State { get; }

    /// <summary>The time until the circuit may admit a call. A half-open circuit may do so earlier, when its probes end.</summary>
    public TimeSpan RetryAfter { get; }

    /// <summary>The circuit that refused, or null when somebody else made the exception: a call may have a circuit of its own.</summary>
    internal CircuitBreaker? RefusedBy { get; init; }
}
