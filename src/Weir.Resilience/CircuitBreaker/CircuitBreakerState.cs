namespace Weir.Resilience;

/// <summary>The states of a <see cref="CircuitBreaker"/>.</summary>
public enum CircuitBreakerState
{
    /// <summary>Calls pass, and their failures are counted.</summary>
    Closed,

    /// <summary>Calls are rejected.</summary>
    Open,

    /// <summary>A few calls pass as probes. Their outcome decides whether the circuit closes or opens again.</summary>
    HalfOpen,
}
