namespace Weir.Resilience;

/// <summary>What a call does if the circuit is open.</summary>
public enum OpenCircuitMode
{
    /// <summary>It fails at once with a <see cref="CircuitBreakerOpenException"/>.</summary>
    FailFast,

    /// <summary>It waits until the circuit admits a call, so that an open circuit does not fail a whole queue.</summary>
    WaitForHalfOpen,
}
