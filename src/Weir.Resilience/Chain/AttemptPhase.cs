namespace Weir.Resilience;

/// <summary>The next thing that an attempt awaits.</summary>
internal enum AttemptPhase
{
    /// <summary>Admission by the circuit breaker.</summary>
    Circuit,

    /// <summary>Admission by the rate gate.</summary>
    Gate,

    /// <summary>The end of the call.</summary>
    Call,
}
