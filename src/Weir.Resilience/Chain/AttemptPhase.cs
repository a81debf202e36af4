namespace Weir.Resilience;

/// <summary>The next step of an attempt.</summary>
internal enum AttemptPhase
{
    /// <summary>Admission by the circuit breaker.</summary>
    Circuit,

    /// <summary>A permit of the concurrency limit. The attempt holds nothing, and asks the circuit breaker again when it has the permit.</summary>
    ConcurrencyLimit,

    /// <summary>To be let in by the rate limit.</summary>
    RateLimit,

    /// <summary>The call.</summary>
    Call,
}
