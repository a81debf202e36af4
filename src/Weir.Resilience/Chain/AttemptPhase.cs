namespace Weir.Resilience;

/// <summary>The next thing that an attempt awaits.</summary>
internal enum AttemptPhase
{
    /// <summary>To be let in by the circuit breaker.</summary>
    Circuit,

    /// <summary>To be let in by the rate gate.</summary>
    Gate,

    /// <summary>The end of the call.</summary>
    Call,
}
