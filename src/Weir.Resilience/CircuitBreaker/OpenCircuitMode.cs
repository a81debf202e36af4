namespace Weir.Resilience;

/// <summary>What a call does that meets an open circuit.</summary>
public enum OpenCircuitMode
{
    /// <summary>It fails at once with a <see cref="CircuitBreakerOpenException"/>.</summary>
    FailFast,

    /// <summary>It waits until the circuit lets a call in, so that an open circuit does not burn what stands in a queue.</summary>
    WaitForHalfOpen,
}
