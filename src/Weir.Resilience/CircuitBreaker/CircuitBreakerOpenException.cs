namespace Weir.Resilience;

/// <summary>The call was not made, because the circuit breaker did not let it in.</summary>
public sealed class CircuitBreakerOpenException : Exception
{
    /// <summary>Makes the exception of an open circuit.</summary>
    public CircuitBreakerOpenException()
        : this(CircuitBreakerState.Open, TimeSpan.Zero)
    {
    }

    /// <summary>Makes the exception of an open circuit.</summary>
    /// <param name="message">The message.</param>
    public CircuitBreakerOpenException(string message)
        : base(message) => State = CircuitBreakerState.Open;

    /// <summary>Makes the exception of an open circuit.</summary>
    /// <param name="message">The message.</param>
    /// <param name="innerException">What opened it.</param>
    public CircuitBreakerOpenException(string message, Exception? innerException)
        : base(message, innerException) => State = CircuitBreakerState.Open;

    /// <summary>Makes the exception of a rejected call.</summary>
    /// <param name="state">The state of the circuit that rejected the call.</param>
    /// <param name="retryAfter">How long it is until the circuit may let a call in.</param>
    public CircuitBreakerOpenException(CircuitBreakerState state, TimeSpan retryAfter)
        : base(state == CircuitBreakerState.HalfOpen
            ? "The circuit is half-open and all its probes are taken."
            : "The circuit is open.")
    {
        State = state;
        RetryAfter = retryAfter;
    }

    /// <summary>The state of the circuit when it rejected the call: <see cref="CircuitBreakerState.Open"/> or <see cref="CircuitBreakerState.HalfOpen"/>.</summary>
    public CircuitBreakerState State { get; }

    /// <summary>How long it is until the circuit may let a call in. A half-open circuit may do so earlier, when its probes end.</summary>
    public TimeSpan RetryAfter { get; }
}
